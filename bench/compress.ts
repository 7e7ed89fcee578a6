// Compresses a raw log as DSH stores it: the header in a frame of its own, then a frame for each batch of rows that was
// written at once, or, as a migration leaves it, one frame for all. Runs under a Node that has zstd:
//   node bench/compress.ts RAW ZSTD batches|whole

import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import * as zlib from 'node:zlib'

/** What is used of node:zlib from 22.15 on; the types of Node 20 do not know it. */
interface Zstd {
  createZstdCompress(options: object): NodeJS.ReadWriteStream
  readonly constants: { readonly ZSTD_c_checksumFlag: number }
}

/** Mean size of a batch: 3,000 frames for 200 MB. */
const BATCH_BYTES = 66_000

const [, , raw, compressed, shape] = process.argv as [string, string, string, string, string]
const zstd = zlib as unknown as Zstd
const output = createWriteStream(compressed)

/** A frame as DSH's writer makes it: streamed, so without content size, and with a checksum. */
function frame(): NodeJS.ReadWriteStream {
  const stream = zstd.createZstdCompress({ params: { [zstd.constants.ZSTD_c_checksumFlag]: 1 } })
  stream.pipe(output, { end: false })
  return stream
}

async function put(stream: NodeJS.ReadWriteStream, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes)) await once(stream, 'drain')
}

async function end(stream: NodeJS.ReadWriteStream): Promise<void> {
  const ended = once(stream, 'end')
  stream.end()
  await ended
}

let body: NodeJS.ReadWriteStream | undefined
let isHeaderWritten = false
let rest: Buffer = Buffer.alloc(0)
/** Batches are of all sizes around the mean. A fixed row of them, so that the same log gives the same file. */
let batch = 0
for await (const piece of createReadStream(raw, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
  rest = rest.length > 0 ? Buffer.concat([rest, piece]) : piece
  if (!isHeaderWritten) {
    const header = frame()
    await put(header, rest.subarray(0, rest.indexOf(10) + 1))
    await end(header)
    rest = rest.subarray(rest.indexOf(10) + 1)
    isHeaderWritten = true
  }
  if (shape === 'whole') {
    body ??= frame()
    await put(body, rest)
    rest = Buffer.alloc(0)
    continue
  }
  for (;;) {
    const wanted = BATCH_BYTES * (0.25 + ((batch * 7) % 16) / 10)
    const last = rest.length > wanted ? rest.indexOf(10, wanted) : -1
    if (last === -1) break
    await writeBatch(rest.subarray(0, last + 1))
    rest = rest.subarray(last + 1)
    batch++
  }
}
if (rest.length > 0) await writeBatch(rest)
if (body) await end(body)
output.end()

async function writeBatch(rows: Uint8Array): Promise<void> {
  const stream = frame()
  await put(stream, rows)
  await end(stream)
}
