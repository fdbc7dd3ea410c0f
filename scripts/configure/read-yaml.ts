import { isMap, isScalar, LineCounter, parseAllDocuments } from 'yaml';
import type { YAMLMap } from 'yaml';
import type { Position, Problem } from './problems.ts';

export interface YamlFile {
  /** The top-level section; undefined when there are problems. */
  readonly root: YAMLMap | undefined;
  readonly problems: readonly Problem[];
  at(offset: number | undefined): Position;
}

/** Parses one YAML 1.2 document. Its errors name the place and the kind of fault, never a piece of the text. */
export function readYaml(text: string): YamlFile {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { version: '1.2', uniqueKeys: false, prettyErrors: false, logLevel: 'silent', lineCounter });
  const at = (offset = 0): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problem = (message: string, offset?: number): Problem => ({ ...at(offset), path: '', message });
  const fail = (...problems: readonly Problem[]): YamlFile => ({ root: undefined, problems, at });

  const [document, second] = Array.isArray(documents) ? documents : [];
  if (document === undefined) return fail(problem('the file is empty; the shipped appliance.yml has every setting with its default'));
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) return fail(...faults.map((fault) => problem(`not YAML: ${withoutText(fault.message)}`, fault.pos[0])));
  if (second !== undefined) return fail(problem('a second document begins here; there must be one', second.range[0]));
  if (document.directives.yaml.explicit === true || Object.keys(document.directives.tags).length > 1)
    return fail(problem('directives (%) are not taken; the file is YAML 1.2'));
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null))
    return fail(problem('the file is empty; the shipped appliance.yml has every setting with its default'));
  if (!isMap(document.contents)) return fail(problem('the file must be settings (key: value)', document.contents.range[0]));
  return { root: document.contents, problems: [], at };
}

function withoutText(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/"[^"]*"?/g, '"..."').replace(/:\s+\S+$/, '');
}
