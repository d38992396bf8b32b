-- jaxpert ${version} in Neovim 0.8 and newer. Put this into ~/.config/nvim/init.lua.
-- ${note}
local jaxpert = {
  name = "jaxpert",
  cmd = { ${words_with_commas} },
  filetypes = { "python" },
  root_markers = { "jaxpert.toml", "pyproject.toml", ".git" },
}
if vim.lsp.config then -- 0.11 and newer
  vim.lsp.config("jaxpert", jaxpert)
  vim.lsp.enable("jaxpert")
else
  vim.api.nvim_create_autocmd("FileType", {
    pattern = jaxpert.filetypes,
    callback = function(event)
      local path = vim.api.nvim_buf_get_name(event.buf)
      local above = path ~= "" and vim.fs.dirname(path) or vim.loop.cwd()
      local marker = vim.fs.find(jaxpert.root_markers, { path = above, upward = true })[1]
      jaxpert.root_dir = vim.fs.dirname(marker)
      vim.lsp.start(jaxpert, {
        reuse_client = function(client, config)
          return client.name == config.name and client.config.root_dir == config.root_dir
        end,
      })
    end,
  })
end
