import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Refusal } from '#shared/contract/reasons.ts';

/** scrypt's cost: N = 2^logN, r = 8. Memory of one computation is 2^logN KiB. */
export interface PasswordCost {
  readonly logN: number;
  readonly parallel: number;
}

/** 16 MiB and about 0.2 s: one of the settings that OWASP calls equal, the one that takes the least memory. */
export const PASSWORD_COST: PasswordCost = { logN: 14, parallel: 5 };

const BLOCK = 8;
const KEY_BYTES = 32;
const FORM = /^\$scrypt\$ln=([0-9]{1,2}),r=8,p=([0-9]{1,2})\$([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]+={0,2})$/;

/**
 * Hashes and compares passwords, a few at a time: each takes a core and memory, so a flood of logins must queue, and the queue has an end.
 * Hashes describe themselves (`$scrypt$ln=14,r=8,p=5$salt$key`), so the cost may rise without a migration.
 */
export class Passwords {
  readonly #cost: PasswordCost;
  readonly #slots: Slots;
  readonly #decoy: Promise<string>;

  /** @param concurrent computations at once; at most `waiting` more queue, then BUSY */
  constructor(cost: PasswordCost = PASSWORD_COST, { concurrent = 2, waiting = 256 } = {}) {
    this.#cost = cost;
    this.#slots = new Slots(concurrent, waiting);
    this.#decoy = this.hash(randomBytes(16).toString('hex'));
    this.#decoy.catch(() => undefined);
  }

  /** @throws {Refusal} BUSY when too many wait */
  async hash(password: string): Promise<string> {
    return this.#slots.run(async () => {
      const { logN, parallel } = this.#cost;
      const salt = randomBytes(16);
      const key = await derive(password, salt, this.#cost);
      return `$scrypt$ln=${logN},r=${BLOCK},p=${parallel}$${salt.toString('base64')}$${key.toString('base64')}`;
    });
  }

  /**
   * Runs `judge` in one of the few slots, with a comparison that takes the same time whether there is a hash or not.
   * Whatever must be true "while a password is being tried" (a pause, a count) belongs inside, because no more than a few run at once.
   */
  async trying<T>(judge: (matches: (password: string, hash: string | undefined) => Promise<boolean>) => Promise<T>): Promise<T> {
    const decoy = await this.#decoy;
    return this.#slots.run(() =>
      judge(async (password, hash) => {
        const isHash = hash !== undefined && FORM.test(hash);
        const equal = await compare(password, isHash ? hash : decoy);
        return isHash && equal;
      }),
    );
  }
}

async function compare(password: string, hash: string): Promise<boolean> {
  const [, logN, parallel, salt, key] = FORM.exec(hash) ?? [];
  if (salt === undefined || key === undefined) return false;
  const expected = Buffer.from(key, 'base64');
  const derived = await derive(password, Buffer.from(salt, 'base64'), { logN: Number(logN), parallel: Number(parallel) });
  return expected.length === derived.length && timingSafeEqual(expected, derived);
}

async function derive(password: string, salt: Buffer, { logN, parallel }: PasswordCost): Promise<Buffer> {
  const options = { N: 2 ** logN, r: BLOCK, p: parallel, maxmem: 256 * BLOCK * (2 ** logN + parallel) };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

/** A bounded number of tasks at once, a bounded queue behind them. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #maxWaiting: number;

  constructor(free: number, maxWaiting: number) {
    this.#free = free;
    this.#maxWaiting = maxWaiting;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await this.#wait();
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async #wait(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting)
      throw new Refusal('BUSY', 'too many passwords are being checked', { retry_after_ms: 1_000 });
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
