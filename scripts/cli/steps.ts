/** Progress of a long command: a line for each step, with its seconds. */
export class Steps {
  readonly #began = performance.now();

  /** Runs one step and prints its line when it is over; long ones say in between what they do. */
  async step<T>(name: string, work: (progress: (line: string) => void) => Promise<T>): Promise<T> {
    const began = performance.now();
    const isTerminal = process.stdout.isTTY;
    const progress = (line: string): void => {
      if (isTerminal) process.stdout.write(`\r\x1b[K${name.padEnd(NAME_WIDTH)} ${line.slice(0, 80)}`);
    };
    progress('...');
    try {
      const result = await work(progress);
      print(isTerminal, name, `${seconds(began)} s`);
      return result;
    } catch (error) {
      print(isTerminal, name, `${seconds(began)} s  failed`);
      throw error;
    }
  }

  get total(): string {
    return seconds(this.#began);
  }
}

const NAME_WIDTH = 14;

function print(isTerminal: boolean, name: string, rest: string): void {
  console.log(`${isTerminal ? '\r\x1b[K' : ''}${name.padEnd(NAME_WIDTH)} ${rest}`);
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1).padStart(6);
}
