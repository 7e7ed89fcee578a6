// Makes a kept surface row smaller: what no reader asks for once the row is not at hand any more is left out, everything
// else, what makes the row wrong included, stays as it is. Which rows are kept, and when memory is short, is row-store.ts.

import { isSameJson } from '../fold.ts'
import { parseRecord } from './records.ts'

type Json = Record<string, unknown>

/** Whose texts somebody will ask for; message.ts reads the others as empty. */
export type WantedTexts = 'all' | 'conversation'

/** Whether the text of a surface event of this stored type is read. */
export function isTextWanted(type: string, texts: WantedTexts): boolean {
  return texts === 'all' || !TEXTS_BESIDE_THE_CONVERSATION.has(type)
}

const TEXTS_BESIDE_THE_CONVERSATION: ReadonlySet<string> = new Set([
  'tool/result',
  'system/message',
  'developer/message',
])

/** The row without streams, usage, reasoning, arguments of calls and the like; `undefined` when it must stay as it is. */
export function slimRow(row: Uint8Array, formatVersion: number, texts: WantedTexts): Uint8Array | undefined {
  const record = parseRecord(row, 0, row.length, formatVersion)
  if (record.kind !== 'event') return undefined
  const { type, seq, time } = record
  const data = slimData(type, record.data, isTextWanted(type, texts))
  if (data === record.data) return undefined
  let json: string
  try {
    json = JSON.stringify({ type, seq, time, data })
    // A result is compared as it was, and JSON has no word for some of the numbers it can be parsed from (1e400).
    if (type === 'tool/result' && !isSameJson(JSON.parse(json).data, data)) return undefined
  } catch {
    return undefined // nested deeper than the stack
  }
  const slim = Buffer.from(json)
  return slim.length < row.length ? slim : undefined
}

function slimData(type: string, data: unknown, isTextKept: boolean): unknown {
  if (!isJson(data)) return data
  if (type === 'tool/result') return slimToolResult(data, isTextKept)
  if (type === 'user/message') return slimMessage(data, isTextKept)
  if (Object.hasOwn(data, 'message')) return { message: slimMessage(data.message, isTextKept) }
  // Shapes of the first v0 builds (FORMAT.md section 4.1); in later versions they are wrong, and are refused all the same.
  if (type === 'steering/message') return slimMessage(data, isTextKept)
  if (type === 'assistant/message' && isJson(data.provenance)) {
    return { ...picked(data, ['content'], isTextKept), provenance: {} }
  }
  return data
}

/** Keys of a message that decide what it is; even one that does not belong there, for old shapes are told by it. */
const MESSAGE_KEYS = ['id', 'role', 'content', 'source', 'message']

function slimMessage(message: unknown, isTextKept: boolean): unknown {
  return isJson(message) ? picked(message, MESSAGE_KEYS, isTextKept) : message
}

function picked(message: Json, keys: readonly string[], isTextKept: boolean): Json {
  const slim: Json = {}
  for (const key of keys) if (Object.hasOwn(message, key)) slim[key] = slimValue(key, message[key], isTextKept)
  return slim
}

function slimValue(key: string, value: unknown, isTextKept: boolean): unknown {
  switch (key) {
    case 'content':
      return Array.isArray(value) ? value.map((block) => slimBlock(block, isTextKept)) : value
    case 'source':
      return isJson(value) ? only(value, ['kind', 'plugin']) : value
    case 'id':
      return typeof value === 'string' ? value : null
    case 'message':
      return null
    default:
      return value
  }
}

/** A block that is none stays, so that it is refused in the same words. */
function slimBlock(block: unknown, isTextKept: boolean): unknown {
  if (!isBlock(block)) return block
  const isText = isTextKept && block.type === 'text' && typeof block.text === 'string'
  return only(block, isText ? ['type', 'text'] : ['type'])
}

/** A later rewrite is compared with all of it but the content of the result. */
function slimToolResult(data: Json, isTextKept: boolean): Json {
  if (!Object.hasOwn(data, 'message')) return withSlimContent(data, isTextKept, false)
  const { message } = data
  if (!isJson(message)) return data
  if (message.role === 'tool') return { ...data, message: withSlimContent(message, isTextKept, true) }
  if (!Array.isArray(message.content) || !isJson(message.content[0])) return data
  const [wrapper, ...rest] = message.content
  return { ...data, message: { ...message, content: [withSlimContent(wrapper, isTextKept, false), ...rest] } }
}

function withSlimContent(result: Json, isTextKept: boolean, isChecked: boolean): Json {
  const { content } = result
  if (!Array.isArray(content) || (isChecked && !content.every(isBlock))) return result
  const texts = content.filter((block) => isBlock(block) && block.type === 'text' && typeof block.text === 'string')
  return { ...result, content: isTextKept ? texts.map((block) => only(block, ['type', 'text'])) : [] }
}

function only(value: Json, keys: readonly string[]): Json {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]]))
}

function isBlock(value: unknown): value is Json & { type: string } {
  return isJson(value) && typeof value.type === 'string'
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
