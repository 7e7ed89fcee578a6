// The shapes of headers and messages a second time, as zod schemas: what those of src/decode are held against, in their verdict
// and in what they say is wrong.

import * as z from 'zod'
import type { SurfaceType } from '../../src/types.ts'

/** A value that is not what it should be. */
interface Doubtful {
  readonly shape: SurfaceType | 'header'
  readonly value: unknown
  readonly formatVersion: number
}

const count = z.number().refine((value) => Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0), {
  error: 'a non-negative safe integer',
})

/** The fields of a header without which it is none (FORMAT.md section 2). */
const Header = z.looseObject({
  type: z.literal('session'),
  version: count,
  id: z.string(),
  createdAt: count,
  cwd: z.string().optional(),
})

const Source = z.looseObject({ kind: z.string().min(1) })
/**
 * A list of blocks, each an object with a type. By hand, because zod reports every wrong entry of a list: a row of 100 MB
 * can hold more of them than there is memory for.
 */
const Blocks = z
  .custom<readonly Record<string, unknown>[]>(Array.isArray, 'an array')
  .superRefine((blocks: readonly unknown[], issues) => {
    const wrong = blocks.findIndex((block) => !isRecord(block) || typeof block.type !== 'string')
    if (wrong === -1) return
    const isBlock = isRecord(blocks[wrong])
    const message = isBlock ? 'a string' : 'an object'
    issues.addIssue({ code: 'custom', path: isBlock ? [wrong, 'type'] : [wrong], message })
  })
// What a tool answered is never projected, so its blocks may be anything.
const Anything = z.custom<readonly unknown[]>(Array.isArray, 'an array')

function messageOf<Role extends string>(role: Role, source: z.ZodType = Source) {
  return z.looseObject({ role: z.literal(role), content: Blocks, source })
}

const ToolSource = z.looseObject({ kind: z.literal('tool'), callId: z.string() })
const WrappedResult = z
  .looseObject({
    role: z.literal('user'),
    source: ToolSource,
    content: z.tuple([
      z.looseObject({
        type: z.literal('tool-result'),
        toolCallId: z.string(),
        content: Anything,
      }),
    ]),
  })
  .refine((message) => message.content[0].toolCallId === message.source.callId, {
    error: 'a toolCallId of the result that is the callId of its source',
  })
const DirectResult = z
  .looseObject({
    role: z.literal('tool'),
    source: ToolSource,
    toolCallId: z.string(),
    content: Blocks,
    isError: z.boolean().optional(),
  })
  .refine((message) => message.toolCallId === message.source.callId, {
    error: 'a toolCallId that is the callId of its source',
  })

const MESSAGES = {
  'user/message': messageOf('user'),
  'assistant/message': z.looseObject({ message: messageOf('assistant', z.looseObject({ kind: z.literal('model') })) }),
  'system/message': z.looseObject({ message: messageOf('system') }),
  'developer/message': z.looseObject({ message: messageOf('developer') }),
  'tool/result': z.looseObject({ message: WrappedResult }),
} as const
// From v4 on the result is a message of its own; forks with the number 4 still write the old wrapper (FORMAT.md section 11).
const ToolResultSince4 = z.looseObject({ message: z.discriminatedUnion('role', [DirectResult, WrappedResult]) })

/** The schema of a header, or of the data of a surface event in its current shape. */
export function shapeOf(shape: SurfaceType | 'header', formatVersion: number): z.ZodType {
  if (shape === 'header') return Header
  return shape === 'tool/result' && formatVersion >= 4 ? ToolResultSince4 : MESSAGES[shape]
}

/** What is wrong first: where, what is due there in words, and what is there. A value with nothing wrong is a bug: the checks without zod refused it. */
export function problemOf({ shape, value, formatVersion }: Doubtful): {
  path: readonly PropertyKey[]
  expected: string
  actual: unknown
  cause: unknown
} {
  const { error } = shapeOf(shape, formatVersion).safeParse(value)
  const [problem] = error?.issues ?? []
  if (!problem) throw new Error(`A ${shape} was refused although its shape is right`)
  const { path } = problem
  return { path, expected: dueAt(problem), actual: valueAt(value, path), cause: error }
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'a boolean',
  number: 'a number',
  object: 'an object',
  string: 'a string',
  tuple: 'an array',
}

/** What a value should be; the schemas above say it themselves where they have a rule of their own. */
function dueAt(problem: z.core.$ZodIssue): string {
  switch (problem.code) {
    case 'invalid_type':
      return TYPES[problem.expected] ?? problem.expected
    case 'invalid_value':
      return problem.values.map((value) => JSON.stringify(value)).join(' or ')
    case 'invalid_union':
      return '"tool" or "user"'
    case 'too_small':
    case 'too_big':
      return problem.origin === 'array' ? 'an array of one block' : 'a string that is not empty'
    default:
      return problem.message
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Record<PropertyKey, unknown>)[key]
  }
  return found
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
