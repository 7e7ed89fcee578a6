// A value that is not what it should be, on its way to the words that say how: reading is synchronous, and loading zod for
// the words of a refusal is not. Every healthy read does without zod, which takes a fifth of the start-up of a command.

import { DshRefError } from '../errors.ts'
import { brief, shortJson } from '../json-bytes.ts'
import type { SurfaceType } from '../types.ts'

/** The cause of a refusal that does not yet say which key is wrong. */
export class ShapeDoubt extends Error {
  override readonly name = 'ShapeDoubt'
  readonly shape: SurfaceType | 'header'
  readonly value: unknown
  readonly formatVersion: number

  constructor(shape: SurfaceType | 'header', value: unknown, formatVersion: number) {
    super(`This is no ${shape}`)
    this.shape = shape
    this.value = value
    this.formatVersion = formatVersion
  }
}

/** Makes a refusal for a wrong shape say which key is wrong, what is due there and what is there; other errors stay. */
export async function explained(error: unknown): Promise<unknown> {
  if (!(error instanceof DshRefError) || !(error.cause instanceof ShapeDoubt)) return error
  const { problemOf } = await import('./shapes.ts')
  const { shape } = error.cause
  const { path, expected, actual, cause } = problemOf(error.cause)
  const key = (shape === 'header' ? path : ['data', ...path]).join('.')
  const place = key === '' ? '' : shape === 'header' ? `: ${key}` : ` at ${key}`
  const found = brief(actual)
  const facts = { ...error.facts, key, expected, ...(found !== undefined && { actual: found }) }
  const words = `${error.message}${place}: expected ${expected}, got ${shortJson(found)}`
  return new DshRefError(error.code, words, facts, { cause })
}
