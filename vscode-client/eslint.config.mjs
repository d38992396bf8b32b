import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["out/", "node_modules/", "bundled/"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      curly: "error",
      eqeqeq: "error",
      "max-lines": ["error", 250],
    },
  },
  // The runner of node:test returns promises that it awaits itself.
  { files: ["test/**"], rules: { "@typescript-eslint/no-floating-promises": "off" } },
);
