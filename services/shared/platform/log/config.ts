import { choice } from '../config/setting.ts';

export const logSection = {
  level: choice(
    'Least severe line that is written. Bodies, tokens and keys are in no line of any level.',
    ['debug', 'info', 'warn', 'error'],
    'info',
  ),
};
