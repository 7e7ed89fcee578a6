// Values of options and of the environment: checked with zod, refused with the option, the value and what is allowed.
// Commands load it when they run; which options there are is main.ts.
import * as z from 'zod'
import { invalidConfig } from '../errors.ts'
import type { CommandOptions } from './print.ts'

export { absolutePath, type Roots, resolveRoots } from './roots.ts'

/** A whole number in decimal digits. */
export function integer(range: { readonly min: number; readonly max?: number }): z.ZodType<number, string> {
  const { min, max = Number.MAX_SAFE_INTEGER } = range
  const allowed =
    max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`
  return z
    .string(allowed)
    .regex(/^[0-9]+$/, allowed)
    .transform(Number)
    .refine((value) => value >= min && value <= max, allowed)
}

/** A number from 0 to 1, both included, in decimal notation. */
export function fraction(): z.ZodType<number, string> {
  const allowed = 'a number from 0 to 1'
  return z
    .string(allowed)
    .regex(/^([0-9]+\.?[0-9]*|\.[0-9]+)$/, allowed)
    .transform(Number)
    .refine((value) => value <= 1, allowed)
}

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly [Word, ...Word[]]): z.ZodType<Word, string> {
  const allowed = words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return z.enum(words, allowed) as unknown as z.ZodType<Word, string>
}

/** Text that is not empty. */
export function text(): z.ZodType<string, string> {
  return z.string('a text').min(1, 'a text that is not empty')
}

/** What `optionsOf` makes of a shape: every option may be left out. */
export type OptionValues<Shape extends Readonly<Record<string, z.ZodType>>> = {
  readonly [Name in keyof Shape]: z.output<Shape[Name]> | undefined
}

/**
 * Checks the options of a command that have a value. Keys are commander's names (`maxReferences` of `--max-references`);
 * an option that was not given is `undefined`. Refuses the first wrong one.
 */
export function optionsOf<const Shape extends Readonly<Record<string, z.ZodType>>>(
  options: CommandOptions,
  shape: Shape,
): OptionValues<Shape> {
  const values: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(shape)) {
    values[name] = options[name] === undefined ? undefined : checked(flagOf(name), options[name], schema)
  }
  return values as OptionValues<Shape>
}

function checked<Value>(option: string, value: unknown, schema: z.ZodType<Value>): Value {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const allowed = result.error.issues[0]?.message ?? 'something else'
  throw invalidConfig(`Option ${option} is ${JSON.stringify(value)}; give ${allowed}`, { option, value, allowed })
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
