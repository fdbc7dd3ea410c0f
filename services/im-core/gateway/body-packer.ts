import { packBody } from '#shared/contract/frame-codec.ts';
import type { PackedBody } from '#shared/contract/frame-codec.ts';

/** Compresses a push once, however many sessions it goes to: they share its Buffer. */
export class BodyPacker {
  readonly #compressMinBytes: number;
  readonly #shared = new WeakMap<Buffer, PackedBody>();

  constructor(compressMinBytes: number) {
    this.#compressMinBytes = compressMinBytes;
  }

  pack(body: Buffer): PackedBody {
    return packBody(body, this.#compressMinBytes);
  }

  packShared(body: Buffer): PackedBody {
    const known = this.#shared.get(body);
    if (known !== undefined) return known;
    const packed = this.pack(body);
    this.#shared.set(body, packed);
    return packed;
  }
}
