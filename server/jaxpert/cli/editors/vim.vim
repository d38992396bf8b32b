" jaxpert ${version} in Vim 8 and newer with ALE. Put this into ~/.vimrc.
" ${note}
" The linters that you use besides belong into the list.
let g:ale_linters = extend(get(g:, 'ale_linters', {}), {'python': ['jaxpert']})
augroup jaxpert
  autocmd!
  autocmd FileType python ++once call ale#linter#Define('python', {
    \ 'name': 'jaxpert',
    \ 'lsp': 'stdio',
    \ 'executable': ${program},
    \ 'command': '%e ${plain_arguments}',
    \ 'language': 'python',
    \ 'project_root': function('s:JaxpertRoot'),
    \ })
augroup END

function! s:JaxpertRoot(buffer) abort
  for l:marker in ['jaxpert.toml', 'pyproject.toml']
    let l:found = ale#path#FindNearestFile(a:buffer, l:marker)
    if !empty(l:found)
      return fnamemodify(l:found, ':h')
    endif
  endfor
  let l:repository = ale#path#FindNearestDirectory(a:buffer, '.git')
  return empty(l:repository) ? expand('#' . a:buffer . ':p:h') : fnamemodify(l:repository, ':h:h')
endfunction
