// Masking of secrets, timed in the benchmark's own process: a conversation as long as the largest ones, with a few secrets in it.

import { redactText } from '../src/secrets/redact.ts'
import { mulberry32, prose } from './make-logs.ts'
import type { Work } from './measure.ts'

/** Megabytes of text. */
export const MASKED_MEGABYTES = 8

/** Masking of so many megabytes of messages, and `JSON.stringify` of them. */
export function maskingWorks(): [Work, Work] {
  const random = mulberry32(11)
  const texts: string[] = []
  for (let bytes = 0; bytes < MASKED_MEGABYTES * 1_000_000; bytes += texts.at(-1)?.length ?? 0) {
    // One message in a hundred holds a token; all others only what looks like the words around one.
    const token =
      texts.length % 100 === 0 ? ` The token is ghp_${tokenOf(random)}. ` : ' const token = process.env.TOKEN '
    texts.push(prose(random, 20 + random() * 140) + token + prose(random, 20 + random() * 140))
  }
  return [
    { name: 'mask', run: () => texts.map((text) => redactText(text)) },
    { name: 'JSON.stringify', run: () => JSON.stringify(texts) },
  ]
}

function tokenOf(random: () => number): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  return Array.from({ length: 36 }, () => letters[Math.floor(random() * letters.length)]).join('')
}
