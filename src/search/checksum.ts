// The checksum of what is kept of texts: quick enough to be taken of all of it in every search.

import * as zlib from 'node:zlib'

/** CRC-32; `value` is that of the bytes before. */
export const crc32: (bytes: Uint8Array, value?: number) => number = zlib.crc32 ?? slowCrc32

let table: Uint32Array | undefined

/** For Node before 20.15, which does not have it. The same numbers, so that either Node reads what the other wrote. */
export function slowCrc32(bytes: Uint8Array, value = 0): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let remainder = byte
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0)
    return remainder >>> 0
  })
  let crc = ~value
  for (let at = 0; at < bytes.length; at++) {
    crc = (table[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}
