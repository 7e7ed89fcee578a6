// Loads the decoders of frames when zstd bytes turn up, so that raw logs do not pay for them.

import { invalidConfig } from '../errors.ts'
import type { FrameDecoder } from './frame-decoder.ts'
import { JavascriptDecoder } from './zstd-javascript.ts'
import { NativeDecoder, type NativeZstd } from './zstd-native.ts'
import { WasmDecoder, type WasmZstd } from './zstd-wasm.ts'

/**
 * The decoders there are: the platform's own (Node 22.15 and later), one in JavaScript, and one in WebAssembly, which leaves
 * frames too large to be decoded in one call to one of the others.
 */
export type ZstdDecoder = 'native' | 'javascript' | 'wasm'

/** A decoder by name, or the best for few or for many bytes. */
export type DecoderChoice = ZstdDecoder | 'few' | 'many'

/** Stored bytes from which wasm-zstd wins back the time it takes to load (10 ms, fzstd 3 ms). */
export const MANY_BYTES = 512 * 1024

export const loadedDecoders = new Map<DecoderChoice, FrameDecoder>()

/** Loads a decoder when the first zstd bytes turn up, so that raw logs do not pay for it. */
export async function loadDecoder(choice: DecoderChoice): Promise<FrameDecoder> {
  const isNativeGood = choice !== 'javascript' && choice !== 'wasm'
  const native = isNativeGood ? await loadNative() : undefined
  if (choice === 'native' && !native) {
    throw invalidConfig('This Node has no zstd in node:zlib; use Node 22.15 or later, or another decoder', {
      option: 'decoder',
    })
  }
  const plain = native ?? (await loadJavascript())
  const decoder = choice === 'wasm' || choice === 'many' ? await withWasm(plain) : plain
  loadedDecoders.set(choice, decoder)
  return decoder
}

async function loadNative(): Promise<FrameDecoder | undefined> {
  const zlib = (await import('node:zlib')) as unknown as NativeZstd
  return 'zstdDecompressSync' in zlib ? new NativeDecoder(zlib) : undefined
}

async function loadJavascript(): Promise<FrameDecoder> {
  const loaded = loadedDecoders.get('javascript')
  if (loaded) return loaded
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import('fzstd'), import('xxhash-wasm')])
  const decoder = new JavascriptDecoder(Decompress, await xxhash())
  loadedDecoders.set('javascript', decoder)
  return decoder
}

/** Named in a variable, because it finds its .wasm file beside itself and so must stay outside of bundles. */
const WASM_MODULE = '@foxglove/wasm-zstd/dist/wasm-zstd.js'

/** Leaves to `plain` what wasm-zstd cannot do. */
async function withWasm(plain: FrameDecoder): Promise<FrameDecoder> {
  try {
    const { default: load } = (await import(WASM_MODULE)) as { default: () => Promise<WasmZstd> }
    const wasm = await load()
    await wasm.ready
    return new WasmDecoder(wasm, plain)
  } catch {
    return plain // not installed, or a system without WebAssembly: it takes longer
  }
}
