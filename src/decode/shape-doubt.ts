// A value that is not what it should be, on its way to the words that say how: reading is synchronous, and loading zod for
// the words of a refusal is not. Every healthy read does without zod, which takes a fifth of the start-up of a command.

import { DshRefError } from '../errors.ts'
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

/** Makes a refusal for a wrong shape say which key is wrong; gives every other error back as it is. */
export async function explained(error: unknown): Promise<unknown> {
  if (!(error instanceof DshRefError) || !(error.cause instanceof ShapeDoubt)) return error
  const { problemOf } = await import('./shapes.ts')
  const { shape } = error.cause
  const { path, message, cause } = problemOf(error.cause)
  const key = (shape === 'header' ? path : ['data', ...path]).join('.')
  const words = shape === 'header' ? `: ${key && `${key}: `}${message}` : ` at ${key}: ${message}`
  const facts = { ...error.facts, key, ...(shape !== 'header' && { expected: message }) }
  return new DshRefError(error.code, `${error.message}${words}`, facts, { cause })
}
