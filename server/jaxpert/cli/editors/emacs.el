;; jaxpert ${version} in Emacs 29 and newer, and 28 after M-x package-install RET eglot RET.
;; Put this into ~/.emacs.d/init.el, or where your init.el is.
;; ${note}
;; Eglot has one server for a buffer: here jaxpert takes the place of another Python server.
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '((python-mode python-ts-mode) . (${words_with_spaces})))
  ;; Eglot leaves paths that are not ASCII as bytes, by which it does not find the buffers of their files.
  (dolist (function '(eglot-uri-to-path eglot--uri-to-path)) ; Emacs 30 and newer, older ones
    (when (fboundp function)
      (advice-add function :filter-return
                  (lambda (path) (decode-coding-string (encode-coding-string path 'utf-8-emacs) 'utf-8))))))
(dolist (hook '(python-mode-hook python-ts-mode-hook))
  (add-hook hook #'eglot-ensure))
