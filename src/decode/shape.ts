// What a JSON value must look like, as data: the check of a value, the words that say what is wrong with it, and what a quick
// reading picks out of a text (json-pick.ts) all come from it.

import { brief, shortJson } from '../text/json-bytes.ts'

/** A shape of JSON values. */
export type Shape =
  /** Any value; `reads` says what of it matters when it is there. */
  | { readonly is: 'anything'; readonly reads?: Shape }
  /** Any value; a string is the text of a message. */
  | { readonly is: 'text' }
  | { readonly is: 'string'; readonly isFilled: boolean }
  | { readonly is: 'literal'; readonly value: string }
  | { readonly is: 'boolean' }
  /** A non-negative safe integer. */
  | { readonly is: 'count' }
  /** A list; with `isSingle` of one entry. */
  | { readonly is: 'list'; readonly entries: Shape; readonly isSingle: boolean }
  | ObjectShape
  /** The one of these whose `key`, a literal, is the value's. */
  | { readonly is: 'either'; readonly key: string; readonly shapes: readonly ObjectShape[] }

/** An object with these members, and any others. */
export interface ObjectShape {
  readonly is: 'object'
  readonly members: readonly Member[]
  /** What must hold between members that are right by themselves; `words` say what is due. */
  readonly rule?: { readonly holds: (value: Json) => boolean; readonly words: string }
}

interface Member {
  readonly key: string
  readonly shape: Shape
  readonly isOptional: boolean
}

export type Json = Record<string, unknown>

export const anything: Shape = { is: 'anything' }
export const text: Shape = { is: 'text' }
export const string: Shape = { is: 'string', isFilled: false }
export const filledString: Shape = { is: 'string', isFilled: true }
export const boolean: Shape = { is: 'boolean' }
export const count: Shape = { is: 'count' }

/** Exactly this string. */
export function literal(value: string): Shape {
  return { is: 'literal', value }
}

/** A list of any length. */
export function list(entries: Shape): Shape {
  return { is: 'list', entries, isSingle: false }
}

/** A list of one entry. */
export function single(entry: Shape): Shape {
  return { is: 'list', entries: entry, isSingle: true }
}

/** An object; a key that ends in `?` may be absent. */
export function object(members: Readonly<Record<string, Shape>>, rule?: ObjectShape['rule']): ObjectShape {
  const parts = Object.entries(members).map(([name, shape]): Member => {
    const isOptional = name.endsWith('?')
    return { key: isOptional ? name.slice(0, -1) : name, shape, isOptional }
  })
  return { is: 'object', members: parts, ...(rule && { rule }) }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A place in a value, what is due there in words, and what is there. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly expected: string
  readonly actual: unknown
}

/** The end of a refusal's message and its facts: which key is wrong (`of` a value named so), what is due and what is there. */
export function problemFacts({ path, expected, actual }: Problem, of?: string) {
  const key = (of === undefined ? path : [of, ...path]).join('.')
  const place = key === '' ? '' : of === undefined ? `: ${key}` : ` at ${key}`
  const found = brief(actual)
  return {
    words: `${place}: expected ${expected}, got ${shortJson(found)}`,
    facts: { key, expected, ...(found !== undefined && { actual: found }) },
  }
}

/** What is wrong first with a value, in the order of its shape; `undefined` when it is right. */
export function problemIn(shape: Shape, value: unknown): Problem | undefined {
  switch (shape.is) {
    case 'anything':
    case 'text':
      return undefined
    case 'string':
      if (typeof value !== 'string') return wrong('a string', value)
      return shape.isFilled && value === '' ? wrong('a string that is not empty', value) : undefined
    case 'literal':
      return value === shape.value ? undefined : wrong(JSON.stringify(shape.value), value)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrong('a boolean', value)
    case 'count':
      if (!Number.isFinite(value)) return wrong('a number', value)
      return isCount(value as number) ? undefined : wrong('a non-negative safe integer', value)
    case 'list':
      return problemInList(shape, value)
    case 'object':
      return problemInObject(shape, value)
    case 'either':
      return problemInOneOf(shape, value)
  }
}

function problemInOneOf({ key, shapes }: Extract<Shape, { is: 'either' }>, value: unknown): Problem | undefined {
  if (!isObject(value)) return wrong('an object', value)
  const literals = shapes.map(({ members }) => members.find((member) => member.key === key)?.shape as Shape)
  const problems = literals.map((shape) => problemIn(shape, value[key]))
  const fitting = shapes[problems.indexOf(undefined)]
  if (fitting) return problemInObject(fitting, value)
  return under(key, wrong(problems.map((problem) => problem?.expected).join(' or '), value[key]))
}

function problemInList({ entries, isSingle }: Extract<Shape, { is: 'list' }>, value: unknown): Problem | undefined {
  if (!Array.isArray(value)) return wrong('an array', value)
  if (isSingle && value.length !== 1) return wrong('an array of one block', value)
  if (entries.is === 'anything') return undefined
  for (let index = 0; index < value.length; index++) {
    const found = problemIn(entries, value[index])
    if (found) return under(index, found)
  }
  return undefined
}

function problemInObject({ members, rule }: ObjectShape, value: unknown): Problem | undefined {
  if (!isObject(value)) return wrong('an object', value)
  for (const { key, shape, isOptional } of members) {
    const inside = value[key]
    if (isOptional && inside === undefined) continue
    const found = problemIn(shape, inside)
    if (found) return under(key, found)
  }
  return rule && !rule.holds(value) ? wrong(rule.words, value) : undefined
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)
}

function wrong(expected: string, actual: unknown): Problem {
  return { path: [], expected, actual }
}

function under(key: string | number, { path, expected, actual }: Problem): Problem {
  return { path: [key, ...path], expected, actual }
}
