/** Comments and quoted texts may hold a semicolon, so each is one token; everything else is taken character by character. */
const TOKENS = /--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|`(?:[^`]|``)*`|;|[\s\S]/g;

/**
 * The statements of a migration file, without comments and without the closing semicolon. Each is its own step.
 * A DELIMITER is not understood: routines have no place in the schema.
 */
export function splitStatements(text: string): readonly string[] {
  const statements: string[] = [];
  let current = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === ';') {
      statements.push(current.trim());
      current = '';
    } else if (!isComment(token)) current += token;
  }
  statements.push(current.trim());
  return statements.filter((statement) => statement !== '');
}

function isComment(token: string): boolean {
  return token.length > 1 && (token.startsWith('--') || token.startsWith('#') || token.startsWith('/*'));
}
