// The message of a surface event, checked by zod and brought to one shape for all versions (FORMAT.md section 4).

import * as z from 'zod'
import { readFailed } from '../errors.ts'
import type { SurfaceMessage, SurfaceType } from '../types.ts'

const Source = z.looseObject({ kind: z.string().min(1), plugin: z.unknown().optional() })
/**
 * A list of blocks, each an object with a type. By hand, because zod reports every wrong entry of a list: a row of 100 MB
 * can hold more of them than there is memory for.
 */
const Blocks = z
  .custom<readonly Record<string, unknown>[]>(Array.isArray, 'Invalid input: expected array')
  .superRefine((blocks: readonly unknown[], issues) => {
    const wrong = blocks.findIndex((block) => !isRecord(block) || typeof block.type !== 'string')
    if (wrong === -1) return
    const isBlock = isRecord(blocks[wrong])
    const message = `Invalid input: expected ${isBlock ? 'string' : 'object'}`
    issues.addIssue({ code: 'custom', path: isBlock ? [wrong, 'type'] : [wrong], message })
  })
// What a tool answered is never projected, so its blocks may be anything.
const Anything = z.custom<readonly unknown[]>(Array.isArray, 'Invalid input: expected array')
const Id = z.unknown().optional()

function messageOf<Role extends string>(role: Role, source: z.ZodType = Source) {
  return z.looseObject({ id: Id, role: z.literal(role), content: Blocks, source })
}

const ToolSource = z.looseObject({ kind: z.literal('tool'), callId: z.string() })
const WrappedResult = z
  .looseObject({
    id: Id,
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
    error: 'expected the toolCallId of the result to be the callId of its source',
  })
const DirectResult = z
  .looseObject({
    id: Id,
    role: z.literal('tool'),
    source: ToolSource,
    toolCallId: z.string(),
    content: Blocks,
    isError: z.boolean().optional(),
  })
  .refine((message) => message.toolCallId === message.source.callId, {
    error: 'expected toolCallId to be the callId of its source',
  })

const SCHEMAS = {
  'user/message': messageOf('user'),
  'assistant/message': z.looseObject({ message: messageOf('assistant', z.looseObject({ kind: z.literal('model') })) }),
  'system/message': z.looseObject({ message: messageOf('system') }),
  'developer/message': z.looseObject({ message: messageOf('developer') }),
  'tool/result': z.looseObject({ message: WrappedResult }),
} as const
// From v4 on the result is a message of its own; forks with the number 4 still write the old wrapper (FORMAT.md section 11).
const ToolResultSince4 = z.looseObject({ message: z.discriminatedUnion('role', [DirectResult, WrappedResult]) })

/**
 * Checks `data` (current shape) as the payload of a surface event. Throws `READ_FAILED`/`corrupt` with rule
 * `message-shape` or `tool-error-shape`, naming the key that is wrong.
 */
export function decodeMessage(type: SurfaceType, seq: number, data: unknown, formatVersion: number): SurfaceMessage {
  const schema = type === 'tool/result' && formatVersion >= 4 ? ToolResultSince4 : SCHEMAS[type]
  const parsed = schema.safeParse(data)
  if (!parsed.success) {
    const [problem] = parsed.error.issues
    const key = ['data', ...(problem?.path ?? [])].join('.')
    throw readFailed(
      'corrupt',
      `The ${type} at seq ${seq} has a wrong shape at ${key}: ${problem?.message ?? 'unknown shape'}`,
      { rule: 'message-shape', seq, key, expected: problem?.message },
      { cause: parsed.error },
    )
  }
  const outer = parsed.data as { message?: unknown; error?: unknown }
  const message = (type === 'user/message' ? outer : outer.message) as Message
  if (type === 'tool/result' && formatVersion >= 3 && formatVersion <= 4) checkToolError(seq, outer.error, message)
  const { source } = message
  const isPlugin = source.kind === 'plugin' && typeof source.plugin === 'string'
  return {
    seq,
    type,
    role: message.role,
    ...(typeof message.id === 'string' && message.id !== '' && { id: message.id }),
    sourceKind: isPlugin ? `plugin:${source.plugin}` : source.kind,
    checkpoint: type === 'user/message' && isCheckpoint(source),
    text: textOf(type === 'tool/result' ? resultContent(message) : message.content),
  }
}

interface Message {
  readonly id?: unknown
  readonly role: SurfaceMessage['role']
  readonly content: readonly Record<string, unknown>[]
  readonly source: { readonly kind: string; readonly plugin?: unknown }
  readonly isError?: unknown
}

/** Both spellings count in every version: forks mix them (FORMAT.md section 4.2). */
function isCheckpoint(source: Message['source']): boolean {
  return source.kind === 'compact-checkpoint' || (source.kind === 'plugin' && source.plugin === 'compact')
}

function textOf(content: readonly unknown[]): string {
  const texts: string[] = []
  for (const block of content) {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown }
    if (type === 'text' && typeof text === 'string') texts.push(text)
  }
  return texts.join('\n')
}

function resultContent(message: Message): readonly unknown[] {
  if (message.role === 'tool') return message.content
  return (message.content[0] as { content: readonly unknown[] }).content
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
