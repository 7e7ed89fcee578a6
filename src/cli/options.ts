// Values of options: checked by hand, refused with the option, the value and what is allowed. Without zod, which would be a
// fifth of the start-up of every command. Which options there are is commands.ts.
import { DshRefError, invalidConfig } from '../errors.ts'
import type { CommandOptions } from './print.ts'

export { absolutePath, type Roots, resolveRoots } from './roots.ts'

/** How the text of an option becomes its value. */
export interface OptionType<Value> {
  /** What may be given: ends the sentence "give …". */
  readonly allowed: string
  /** `undefined` when the text is none of that. */
  read(text: string): Value | undefined
}

/** What a whole number may be, in words. */
export function wholeNumber(min: number, max: number): string {
  return max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`
}

/** A whole number in decimal digits. */
export function integer(range: { readonly min: number; readonly max?: number }): OptionType<number> {
  const { min, max = Number.MAX_SAFE_INTEGER } = range
  return {
    allowed: wholeNumber(min, max),
    read: (text) => {
      const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  }
}

/** A number from 0 to 1, both included, in decimal notation. */
export function fraction(): OptionType<number> {
  return {
    allowed: 'a number from 0 to 1',
    read: (text) => (/^([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text) && Number(text) <= 1 ? Number(text) : undefined),
  }
}

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly [Word, ...Word[]]): OptionType<Word> {
  return {
    allowed: words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
    read: (text) => words.find((word) => word === text),
  }
}

/** Text that is not empty. */
export function text(): OptionType<string> {
  return { allowed: 'a text that is not empty', read: (value) => (value === '' ? undefined : value) }
}

/** What `optionsOf` makes of a list of types: every option may be left out. */
export type OptionValues<Types extends Readonly<Record<string, OptionType<unknown>>>> = {
  readonly [Name in keyof Types]: Types[Name] extends OptionType<infer Value> ? Value | undefined : never
}

/**
 * Checks the options of a command that have a value. Keys are commander's names (`maxReferences` of `--max-references`);
 * an option that was not given is `undefined`. Refuses the first wrong one.
 */
export function optionsOf<const Types extends Readonly<Record<string, OptionType<unknown>>>>(
  options: CommandOptions,
  types: Types,
): OptionValues<Types> {
  const values: Record<string, unknown> = {}
  for (const [name, type] of Object.entries(types)) {
    values[name] = options[name] === undefined ? undefined : checked(flagOf(name), options[name], type)
  }
  return values as OptionValues<Types>
}

function checked<Value>(option: string, value: unknown, { allowed, read }: OptionType<Value>): Value {
  const known = typeof value === 'string' ? read(value) : undefined
  if (known !== undefined) return known
  throw invalidConfig(`Option ${option} is ${JSON.stringify(value)}; give ${allowed}`, { option, value, allowed })
}

/** A refusal of the library in the words of the command line: the option in the place of the field it names. */
export function inOptions(error: DshRefError): DshRefError {
  const { option } = error.facts
  if (typeof option !== 'string' || !/^[a-z]+[A-Z]/.test(option)) return error
  const flag = flagOf(option)
  // Quoted text may be anybody's.
  const message = error.message.replace(/"(?:[^"\\]|\\.)*"|\w+/g, (word) => (word === option ? flag : word))
  return new DshRefError(error.code, message, { ...error.facts, option: flag }, { cause: error.cause })
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
