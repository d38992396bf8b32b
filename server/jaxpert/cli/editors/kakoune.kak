# jaxpert ${version} in Kakoune with kakoune-lsp 18 and newer. Put this into ~/.config/kak/kakrc, behind the line that
# loads kakoune-lsp (eval %sh{kak-lsp}).
# ${note}
hook -group jaxpert global BufSetOption filetype=python %{
    set-option -add buffer lsp_servers %{
        [jaxpert]
        command = ${program}
        args = [${arguments_with_commas}]
        root_globs = ["jaxpert.toml", "pyproject.toml", ".git"]
    }
}
hook -group jaxpert global WinSetOption filetype=python %{
    lsp-enable-window
}
