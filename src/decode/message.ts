// The message of a surface event, checked and brought to one shape for all versions (FORMAT.md section 4). The check says yes
// or no; what is wrong is said by shapes.ts, in the words of zod, which is loaded for that only.

import { readFailed } from '../errors.ts'
import type { SurfaceMessage, SurfaceType } from '../types.ts'
import { ShapeDoubt } from './shape-doubt.ts'

type Json = Record<string, unknown>

/**
 * Checks `data` (current shape) as the payload of a surface event. Throws `READ_FAILED`/`corrupt` with rule
 * `message-shape` or `tool-error-shape`; `explained` makes the former name the key that is wrong.
 */
export function decodeMessage(type: SurfaceType, seq: number, data: unknown, formatVersion: number): SurfaceMessage {
  const message = type === 'user/message' ? data : isRecord(data) ? data.message : undefined
  if (!isMessageOf(type, message, formatVersion)) {
    const doubt = new ShapeDoubt(type, data, formatVersion)
    throw readFailed(
      'corrupt',
      `The ${type} at seq ${seq} has a wrong shape`,
      { rule: 'message-shape', seq },
      { cause: doubt },
    )
  }
  const { role, id, source, content } = message
  if (type === 'tool/result' && isErrorFlagDue(formatVersion)) checkToolError(seq, (data as Json).error, message)
  const text = textOf(type === 'tool/result' && role === 'user' ? (content[0] as unknown as Wrapper).content : content)
  return surfaceMessage({ seq, type, role, id, source, text })
}

/** The parts a surface message is made of, as checked. */
interface MessageParts extends Pick<SurfaceMessage, 'seq' | 'type' | 'role' | 'text'> {
  readonly id: unknown
  readonly source: { readonly kind: string; readonly plugin?: unknown }
}

/** Puts a message together from its checked parts. */
export function surfaceMessage({ seq, type, role, id, source, text }: MessageParts): SurfaceMessage {
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
    text,
  }
}

/** Whether a tool result with an error must be marked as one (FORMAT.md section 5). */
export function isErrorFlagDue(formatVersion: number): boolean {
  return formatVersion === 3 || formatVersion === 4
}

interface Message {
  readonly id?: unknown
  readonly role: SurfaceMessage['role']
  readonly content: readonly Json[]
  readonly source: { readonly kind: string; readonly plugin?: unknown }
  readonly isError?: unknown
}

interface Wrapper {
  readonly content: readonly unknown[]
}

const ROLE_OF = {
  'user/message': 'user',
  'assistant/message': 'assistant',
  'system/message': 'system',
  'developer/message': 'developer',
} as const

/** The same rules as the schemas in shapes.ts; a test holds the two against each other. */
function isMessageOf(type: SurfaceType, message: unknown, formatVersion: number): message is Message {
  if (!isRecord(message) || !isRecord(message.source)) return false
  const { role, content, source } = message
  if (type === 'tool/result') {
    if (source.kind !== 'tool' || typeof source.callId !== 'string') return false
    return role === 'tool' && formatVersion >= 4
      ? isDirectResult(message, source.callId)
      : isWrapped(message, source.callId)
  }
  if (role !== ROLE_OF[type] || !isBlocks(content) || typeof source.kind !== 'string' || source.kind === '')
    return false
  return type !== 'assistant/message' || source.kind === 'model'
}

/** From v4 on a tool result is a message of its own … */
function isDirectResult({ toolCallId, content, isError }: Json, callId: string): boolean {
  return toolCallId === callId && isBlocks(content) && (isError === undefined || typeof isError === 'boolean')
}

/** … before, and in forks that write 4, one block of a user message. What is in it is never projected: it may be anything. */
function isWrapped({ role, content }: Json, callId: string): boolean {
  if (role !== 'user' || !Array.isArray(content) || content.length !== 1) return false
  const [block]: readonly unknown[] = content
  return isRecord(block) && block.type === 'tool-result' && block.toolCallId === callId && Array.isArray(block.content)
}

function isBlocks(content: unknown): boolean {
  return Array.isArray(content) && content.every((block) => isRecord(block) && typeof block.type === 'string')
}

function textOf(content: readonly unknown[]): string {
  const texts: string[] = []
  for (const block of content) {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown }
    if (type === 'text' && typeof text === 'string') texts.push(text)
  }
  return texts.join('\n')
}

function checkToolError(seq: number, error: unknown, message: Message): void {
  const isError = message.role === 'tool' ? message.isError : message.content[0]?.isError
  if (error === undefined || isError === true) return
  throw readFailed('corrupt', `The tool/result at seq ${seq} has an error but its result is not marked isError`, {
    rule: 'tool-error-shape',
    seq,
    expected: true,
    actual: isError ?? null,
  })
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
