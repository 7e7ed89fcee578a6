// Small frames decoded by libzstd in WebAssembly, the fastest where there are many.

import type { FrameDecoder, OpenFrame } from './frame-decoder.ts'
import type { FrameHeader } from './frames.ts'

/** What is used of the module inside @foxglove/wasm-zstd: its own wrapper copies each content into memory of its own. */
export interface WasmZstd {
  readonly ready: Promise<unknown>
  /** Another buffer whenever the memory has grown. */
  readonly HEAPU8: Uint8Array<ArrayBuffer>
  _malloc(size: number): number
  _free(pointer: number): void
  /** Size of the content, or −1. */
  _decompress(content: number, contentLimit: number, frame: number, frameSize: number): number
}

/** A piece of the memory of the module, made larger when that is needed. */
class WasmBytes {
  readonly #wasm: WasmZstd
  #pointer = 0
  #size = 0

  constructor(wasm: WasmZstd) {
    this.#wasm = wasm
  }

  /** Where at least `size` bytes are. What was there is lost. */
  pointerTo(size: number): number {
    if (size <= this.#size) return this.#pointer
    if (this.#size > 0) this.#wasm._free(this.#pointer)
    this.#size = 0
    this.#pointer = this.#wasm._malloc(size)
    if (this.#pointer === 0) throw new Error(`No memory for ${size} bytes in wasm-zstd`)
    this.#size = size
    return this.#pointer
  }
}

/**
 * libzstd in WebAssembly: a fifth of the time of fzstd and less, checksums included, and half of what Node 22 takes for small
 * frames, which leaves a context of libzstd to the garbage collector for each. It has one error for everything and takes
 * whole frames only, so another decoder says what is wrong, and streams what is large.
 */
export class WasmDecoder implements FrameDecoder {
  readonly #wasm: WasmZstd
  readonly #plain: FrameDecoder
  readonly #frame: WasmBytes
  readonly #content: WasmBytes

  constructor(wasm: WasmZstd, plain: FrameDecoder) {
    this.#wasm = wasm
    this.#plain = plain
    this.#frame = new WasmBytes(wasm)
    this.#content = new WasmBytes(wasm)
  }

  decode(frame: Uint8Array, header: FrameHeader, contentLimit: number): readonly Uint8Array[] {
    const limit = Math.min(header.contentBytes ?? contentLimit, contentLimit)
    const from = this.#frame.pointerTo(frame.length)
    const to = this.#content.pointerTo(Math.max(limit, 1))
    this.#wasm.HEAPU8.set(frame, from)
    const size = this.#wasm._decompress(to, limit, from, frame.length)
    if (size === -1) return this.#plain.decode(frame, header, contentLimit)
    return [Buffer.from(this.#wasm.HEAPU8.buffer, to, size)]
  }

  open(header: FrameHeader, deliver: (chunk: Uint8Array) => void): OpenFrame {
    return this.#plain.open(header, deliver)
  }
}
