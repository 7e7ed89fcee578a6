// Old v0 shapes brought to the one internal shape at the reading border (FORMAT.md section 4.1).

import type { SurfaceType } from '../types.ts'
import { block, dataShape, resultContent } from './message.ts'
import { anything, isObject, type Json, list, object, type Shape } from './shape.ts'
import { STEERING_MESSAGE } from './vocabulary.ts'

/** What a normaliser may need beside the payload. */
export interface LegacyContext {
  readonly sessionId: string
  readonly seq: number
  /** Id of the message this event replaces, when it does; read on demand. */
  replacedMessageId(): string | undefined
}

/** The type under which fold and projection know an event. */
export function currentType(type: string): string {
  return type === STEERING_MESSAGE ? 'user/message' : type
}

const OLD_SHAPES: Readonly<Record<SurfaceType, readonly Shape[]>> = {
  'user/message': [
    object({ message: anything }),
    object({ message: dataShape('user/message', 0), content: list(block), source: object({ kind: anything }) }),
  ],
  'assistant/message': [object({ content: list(block), provenance: object({}) })],
  'tool/result': [object({ callId: anything, content: resultContent, isError: anything })],
  'system/message': [],
  'developer/message': [],
}

/** What `currentData` looks at beside the current shape of an event. */
export function oldShapesOf(type: SurfaceType): readonly Shape[] {
  return OLD_SHAPES[type]
}

/** The payload of a surface event in its current shape; anything not recognised as old comes back as it is. */
export function currentData(storedType: string, data: unknown, context: LegacyContext): unknown {
  if (!isObject(data)) return data
  switch (storedType) {
    case STEERING_MESSAGE:
      return Object.hasOwn(data, 'message') ? data.message : userMessage(data, context)
    case 'user/message':
      return isBareUserMessage(data) ? userMessage(data, context) : data
    case 'assistant/message':
      return Object.hasOwn(data, 'message') ? data : assistantMessage(data, context)
    case 'tool/result':
      return Object.hasOwn(data, 'message') ? data : toolResult(data, context)
    default:
      return data
  }
}

/** Old user messages had content and source only; one that has a role as well is not old but incomplete. */
function isBareUserMessage(data: Json): boolean {
  return (
    !['id', 'role', 'message'].some((key) => Object.hasOwn(data, key)) &&
    Object.hasOwn(data, 'content') &&
    Object.hasOwn(data, 'source')
  )
}

function userMessage(data: Json, context: LegacyContext): Json {
  const { content, source } = data
  return { id: legacyId(context), role: 'user', content, source }
}

function assistantMessage(data: Json, context: LegacyContext): Json {
  const { content, provenance, ...rest } = data
  if (content === undefined || !isObject(provenance)) return data
  const source = { ...provenance, kind: 'model' }
  return { ...rest, message: { id: legacyId(context), role: 'assistant', content, source } }
}

function toolResult(data: Json, context: LegacyContext): Json {
  const { callId, content, isError, ...rest } = data
  if (callId === undefined || content === undefined) return data
  const block: Json = { type: 'tool-result', toolCallId: callId, content }
  if (isError !== undefined) block.isError = isError
  const id = context.replacedMessageId() ?? legacyId(context)
  return { ...rest, message: { id, role: 'user', source: { kind: 'tool', callId }, content: [block] } }
}

function legacyId({ sessionId, seq }: LegacyContext): string {
  return `legacy-message:${sessionId}:${seq}`
}
