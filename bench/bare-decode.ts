// What reading zstd logs is compared with: the decoder alone, frame by frame, and a look for newlines. No checksum is held
// against the content where the decoder does not do so itself (fzstd).

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as zlib from 'node:zlib'
import { FrameScanner } from '../src/decode/frames.ts'

/** Larger frames are decoded as a stream. */
const WHOLE_BYTES = 1024 * 1024

interface Zstd {
  zstdDecompressSync(frame: Uint8Array): Buffer
  createZstdDecompress(): NodeJS.ReadWriteStream
}

let rows = 0
function scan(content: Uint8Array): void {
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) rows++
}

const decode = 'zstdDecompressSync' in zlib ? natively(zlib as unknown as Zstd) : await inJavaScript()

for (const path of process.argv.slice(2)) {
  const bytes = readFileSync(path)
  const scanner = new FrameScanner()
  for (let at = 0, start = 0; at < bytes.length; ) {
    at = scanner.advance(bytes, at)
    if (scanner.part !== 'end') continue
    const wait = decode(bytes.subarray(start, at))
    if (wait) await wait
    start = at
  }
}
if (rows === 0) process.exitCode = 1

function natively(zstd: Zstd): (frame: Uint8Array) => Promise<void> | undefined {
  return (frame) => {
    if (frame.length > WHOLE_BYTES) return streamed(zstd.createZstdDecompress(), frame)
    scan(zstd.zstdDecompressSync(frame))
    return undefined
  }
}

async function streamed(stream: NodeJS.ReadWriteStream, frame: Uint8Array): Promise<void> {
  stream.on('data', scan)
  stream.end(frame)
  await once(stream, 'end')
}

async function inJavaScript(): Promise<(frame: Uint8Array) => undefined> {
  const { Decompress } = await import('fzstd')
  return (frame) => {
    const decompress = new Decompress(scan)
    for (let at = 0; at < frame.length; at += WHOLE_BYTES) {
      decompress.push(frame.subarray(at, at + WHOLE_BYTES), at + WHOLE_BYTES >= frame.length)
    }
    return undefined
  }
}
