// The shapes of surface events (FORMAT.md section 4) and the one message they are brought to, for all versions. What may be in
// a shape, and who reads it, is shape.ts; old shapes are brought up to date before, in legacy.ts.

import { readFailed } from '../errors.ts'
import type { SurfaceMessage, SurfaceType } from '../types.ts'
import {
  anything,
  boolean,
  filledString,
  type Json,
  list,
  literal,
  object,
  problemFacts,
  problemIn,
  type Shape,
  single,
  string,
  text,
} from './shape.ts'

/** One entry of a message; of most kinds nothing but the kind matters. */
export const block = object({ type: string, 'text?': text })
const source = object({ kind: filledString, 'plugin?': anything })
const toolSource = object({ kind: literal('tool'), callId: string })

function message(role: string, from: Shape = source): Shape {
  return object({ 'id?': anything, role: literal(role), content: list(block), source: from })
}

/** What a tool answered is never projected, so it may be anything. */
export const resultContent = list({ is: 'anything', reads: block })

const wrappedResult = object(
  {
    'id?': anything,
    role: literal('user'),
    source: toolSource,
    content: single(
      object({
        type: literal('tool-result'),
        toolCallId: string,
        content: resultContent,
        'isError?': anything,
      }),
    ),
  },
  {
    holds: (result) => (result.content as [Json])[0].toolCallId === (result.source as Json).callId,
    words: 'a toolCallId of the result that is the callId of its source',
  },
)
const directResult = object(
  {
    'id?': anything,
    role: literal('tool'),
    source: toolSource,
    toolCallId: string,
    content: list(block),
    'isError?': boolean,
  },
  {
    holds: (result) => result.toolCallId === (result.source as Json).callId,
    words: 'a toolCallId that is the callId of its source',
  },
)

const DATA: Readonly<Record<SurfaceType, Shape>> = {
  'user/message': message('user'),
  'assistant/message': object({ message: message('assistant', object({ kind: literal('model') })) }),
  'system/message': object({ message: message('system') }),
  'developer/message': object({ message: message('developer') }),
  'tool/result': object({ message: wrappedResult, 'error?': anything }),
}
// From v4 on the result is a message of its own; forks with the number 4 still write the old wrapper (FORMAT.md section 11).
const RESULT_SINCE_4 = object({
  message: { is: 'either', key: 'role', shapes: [directResult, wrappedResult] },
  'error?': anything,
})

/** The shape of the data of a surface event. */
export function dataShape(type: SurfaceType, formatVersion: number): Shape {
  return type === 'tool/result' && formatVersion >= 4 ? RESULT_SINCE_4 : DATA[type]
}

/** What becomes of the texts of a message: read, or their UTF-8 bytes counted, or neither. */
export type TextUse = 'read' | 'counted' | 'none'

/**
 * Checks `data` (current shape) as the payload of a surface event. Throws `READ_FAILED`/`corrupt` with rule
 * `message-shape`, which names the key that is wrong, or `tool-error-shape`.
 */
export function decodeMessage(
  type: SurfaceType,
  seq: number,
  data: unknown,
  formatVersion: number,
  use: TextUse = 'read',
): SurfaceMessage {
  const problem = problemIn(dataShape(type, formatVersion), data)
  if (problem) {
    const { words, facts } = problemFacts(problem, 'data')
    const message = `The ${type} at seq ${seq} has a wrong shape${words}`
    throw readFailed('corrupt', message, { rule: 'message-shape', seq, ...facts })
  }
  const checked = (type === 'user/message' ? data : (data as Json).message) as CheckedMessage
  const result = type === 'tool/result' && checked.role === 'user' ? checked.content[0] : checked
  if (type === 'tool/result' && isErrorFlagDue(formatVersion)) checkToolError(seq, (data as Json).error, result)
  const { id, role, source } = checked
  const { kind, plugin } = source
  return {
    seq,
    type,
    role,
    ...(typeof id === 'string' && id !== '' && { id }),
    sourceKind: kind === 'plugin' && typeof plugin === 'string' ? `plugin:${plugin}` : kind,
    // Both spellings count in every version: forks mix them (FORMAT.md section 4.2).
    checkpoint:
      type === 'user/message' && (kind === 'compact-checkpoint' || (kind === 'plugin' && plugin === 'compact')),
    ...textOf((result as { content: readonly unknown[] }).content, use),
  }
}

interface CheckedMessage {
  readonly id?: unknown
  readonly role: SurfaceMessage['role']
  readonly content: readonly Json[]
  readonly source: { readonly kind: string; readonly plugin?: unknown }
}

/** Whether a tool result with an error must be marked as one (FORMAT.md section 5). */
function isErrorFlagDue(formatVersion: number): boolean {
  return formatVersion === 3 || formatVersion === 4
}

function textOf(content: readonly unknown[], use: TextUse): Pick<SurfaceMessage, 'text' | 'textBytes'> {
  if (use === 'none') return { text: '' }
  const texts: unknown[] = []
  for (const entry of content) {
    const { type, text } = (entry ?? {}) as { type?: unknown; text?: unknown }
    if (type === 'text' && typeof text === (use === 'read' ? 'string' : 'number')) texts.push(text)
  }
  if (use === 'read') return { text: texts.join('\n') }
  let textBytes = Math.max(0, texts.length - '\n'.length)
  for (const count of texts) textBytes += count as number
  return { text: '', textBytes }
}

function checkToolError(seq: number, error: unknown, result: Json | CheckedMessage | undefined): void {
  const { isError } = result as { isError?: unknown }
  if (error === undefined || isError === true) return
  throw readFailed('corrupt', `The tool/result at seq ${seq} has an error but its result is not marked isError`, {
    rule: 'tool-error-shape',
    seq,
    expected: true,
    actual: isError ?? null,
  })
}
