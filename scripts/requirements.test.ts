import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PAGE = readFileSync(join(ROOT, 'REQUIREMENTS.md'), 'utf8');
const TEST_FILES = globSync(['services/**/*.test.ts', 'scripts/**/*.test.ts', 'e2e/**/*.{e2e,compose}.ts'], { cwd: ROOT }).sort();
const GROUPS =
  'KFK CMD CFG QRY SIG OBX IDM RTY DLQ SNP MSG FRM SES DLV PSH SYN INB MBX GRP USR FRD FIL WRK AUD CCH NET LIM OBS OPS CBK INV ACC'.split(
    ' ',
  );
const STATUSES = ['proved', 'proved in part', 'decided otherwise', 'later', 'not testable'] as const;
const PIECES = ['message core', 'event engine', 'integrations', 'compose', 'operable', 'modules'];
const PROOF = /([\w./-]+\/[\w.-]+\.ts|\.dependency-cruiser\.cjs) "([^"]+)"/g;

interface Row {
  readonly id: string;
  readonly sentence: string;
  readonly status: string;
}

/** Rows of the tables that follow a heading `## NAME`, up to the next one. */
function rowsUnder(name: string): readonly Row[] {
  const part = PAGE.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? '';
  return [...part.matchAll(/^\| ([A-Z][A-Z0-9-]*\d+) \| (.+?) \| (.+) \|$/gm)].map(([, id = '', sentence = '', status = '']) => ({
    id,
    sentence,
    status,
  }));
}

const REQUIREMENTS = rowsUnder('Requirements');
const CASES = rowsUnder('Cases from the field');
const kindOf = ({ status }: Row): string => status.slice(0, status.indexOf(':'));

/** What a file calls its tests, templates as they stand in the source; of the rules of the rooms, all of it. */
function titlesOf(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  if (!file.endsWith('.ts')) return [text];
  return [...text.matchAll(/\b(?:it|describe)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)].map(([, , title = '']) => title);
}

/** `SIG-05..12` names eight rows. */
function idsIn(title: string): readonly string[] {
  return [...title.matchAll(/\b([A-Z]{3})-(\d{2})(?:\.\.(\d{2}))?(?!\d)/g)]
    .filter(([, group = '']) => GROUPS.includes(group))
    .flatMap(([, group = '', first = '', last = first]) =>
      Array.from({ length: Number(last) - Number(first) + 1 }, (_, step) => `${group}-${String(Number(first) + step).padStart(2, '0')}`),
    );
}

/** Rows that a title names although they are said to come later, or are not there at all. */
function unkept(rows: readonly Row[], namesIn: (title: string) => readonly string[]): readonly string[] {
  const kept = new Set(rows.filter((row) => kindOf(row) !== 'later').map(({ id }) => id));
  return TEST_FILES.flatMap((file) =>
    titlesOf(file)
      .flatMap(namesIn)
      .filter((id) => !kept.has(id))
      .map((id) => `${id} in ${file}`),
  );
}

describe('REQUIREMENTS.md', () => {
  it('lists every requirement once, in one sentence, and every group', () => {
    const ids = REQUIREMENTS.map(({ id }) => id);
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
    );
    assert.deepEqual([...new Set(ids.map((id) => id.slice(0, 3)))], GROUPS);
    for (const { id, sentence } of REQUIREMENTS) assert.match(sentence, /^[^|]+\.$/, id);
  });

  it('gives every row a status of the known kinds, and what comes later a piece of work', () => {
    for (const row of [...REQUIREMENTS, ...CASES]) {
      assert.ok((STATUSES as readonly string[]).includes(kindOf(row)), `${row.id}: ${row.status}`);
      assert.equal(/\blater: /.test(row.status), ['later', 'proved in part'].includes(kindOf(row)), row.id);
      const [, piece] = /\blater: ([a-z ]+?)(?:,|$)/.exec(row.status) ?? [];
      assert.ok(piece === undefined || PIECES.includes(piece), `${row.id}: later: ${piece ?? ''}`);
    }
  });

  it('names tests that exist, by words of their titles', () => {
    for (const row of [...REQUIREMENTS, ...CASES]) {
      const proofs = [...row.status.matchAll(PROOF)];
      assert.equal(proofs.length > 0, row.status.includes('proved'), `${row.id}: ${row.status}`);
      for (const [, file = '', words = ''] of proofs) {
        assert.ok(existsSync(join(ROOT, file)), `${row.id}: ${file} does not exist`);
        assert.ok(
          titlesOf(file).some((title) => title.includes(words)),
          `${row.id}: no test of ${file} is called "${words}"`,
        );
      }
    }
  });

  it('has every requirement and case that a test names, and none of them comes later', () => {
    assert.deepEqual(unkept(REQUIREMENTS, idsIn), []);
    const cases = (title: string): readonly string[] => [...title.matchAll(/\b([FSUGAITE]\d{1,2})[a-g]?\b/g)].map(([, id = '']) => id);
    assert.deepEqual(unkept(CASES, cases), []);
  });

  it('counts its rows right', () => {
    const counted = [
      ...STATUSES.map((kind) => [kind, REQUIREMENTS.filter((row) => kindOf(row) === kind).length]),
      ['all', REQUIREMENTS.length],
    ];
    const said = [...PAGE.matchAll(/^\| ([a-z ]+) \| (\d+) \|$/gm)].map(([, kind, count]) => [kind, Number(count)]);
    assert.deepEqual(said, counted);
  });
});
