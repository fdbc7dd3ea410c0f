import { basename } from 'node:path';
import { ConfigProblems } from '../configure/problems.ts';
import { readSettings } from '../configure/settings.ts';
import type { Command } from './command.ts';

/** Says everything that is wrong with the settings file, in one run. Touches nothing. Exit 0 or 2. */
export const command: Command = {
  summary: 'check the settings file and touch nothing',
  usage: '[--file FILE] [--json]',
  options: { json: { kind: 'flag', summary: 'print {ok, hash, problems: [{line, column, path, message}], warnings}' } },
  async run({ file }, { flags }) {
    const isJson = flags.has('json');
    try {
      const { hash, warnings } = await readSettings({ now: new Date() }, file);
      if (isJson) console.log(JSON.stringify({ ok: true, hash, problems: [], warnings }));
      else {
        for (const warning of warnings) console.log(`warning: ${warning}`);
        console.log(`${basename(file)}: ok (configuration ${hash})`);
      }
      return 0;
    } catch (error) {
      if (!(error instanceof ConfigProblems)) throw error;
      if (isJson) console.log(JSON.stringify({ ok: false, problems: error.problems, warnings: [] }));
      else for (const line of error.lines) console.error(line);
      return 2;
    }
  },
};
