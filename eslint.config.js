import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['node_modules/', '.appliance/', '*.cjs', 'eslint.config.js'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true, allow: [{ name: ['Error', 'URL'], from: 'lib' }] },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports', fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 350, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      eqeqeq: 'error',
      // The rendered file is the only source of settings; ambient variables never reach one.
      'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'Settings come from the rendered file only.' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.property.name='only'][object.object.name=/^(describe|it)$/]",
          message: 'A focused test hides the others.',
        },
      ],
    },
  },
  {
    files: ['**/*.test.ts', '**/*.e2e.ts', 'services/shared/testing/**'],
    rules: { 'max-lines-per-function': 'off', 'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }] },
  },
  { files: ['scripts/cli/**', 'scripts/bench/**'], rules: { 'no-console': 'off' } },
);
