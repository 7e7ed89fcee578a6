// The rules on what may replace what: the system message at the head, and the result of a tool, of which only the content
// may be written anew.

import { isObject } from '../decode/shape.ts'
import type { SurfaceEvent } from '../types.ts'
import type { SurfaceNode } from './surface-list.ts'
import { type FoldViolation, violation } from './violation.ts'

/** Judges a replacement of these nodes of a surface that begins with `head`; `undefined` when it keeps the rules. */
export function checkProtected(
  event: SurfaceEvent,
  shadowed: readonly SurfaceNode[],
  head: SurfaceNode | undefined,
  version: number,
): FoldViolation | undefined {
  const first = shadowed[0] as SurfaceNode
  if (version >= 3 && first === head && first.event.type === 'system/message') {
    if (event.type !== 'system/message' || shadowed.length !== 1) {
      return violation(
        'system-head',
        event.seq,
        `A ${event.type} event replaces the system message at the head of the surface`,
        'a system/message replacing exactly the head',
        { type: event.type, shadowed: shadowed.length },
      )
    }
  }
  if (event.type !== 'tool/result') return undefined
  if (shadowed.length !== 1 || first.event.type !== 'tool/result') {
    return violation(
      'tool-rewrite-span',
      event.seq,
      'A tool/result replaces something else than one tool/result',
      'exactly one tool/result',
      shadowed.map((node) => node.event.type),
    )
  }
  if (!sameButResultContent(first.event.data(), event.data())) {
    return violation(
      'tool-rewrite-changed',
      event.seq,
      `A tool/result rewrite changes more than the content of the result at seq ${first.event.seq}`,
      'the same data but for the result content',
      'other data',
    )
  }
  return undefined
}

/** Compares two `tool/result` payloads with the content of the result taken out (FORMAT.md section 5, rule 6). */
function sameButResultContent(before: unknown, after: unknown): boolean {
  return isSameJson(withoutResultContent(before), withoutResultContent(after))
}

function withoutResultContent(data: unknown): unknown {
  if (!isObject(data) || !isObject(data.message)) return data
  const { message } = data
  // The old shape wraps the result in one block; the v4 shape is the message itself.
  if (message.role === 'tool') return { ...data, message: { ...message, content: null } }
  if (!Array.isArray(message.content) || !isObject(message.content[0])) return data
  const [wrapper, ...rest] = message.content
  return { ...data, message: { ...message, content: [{ ...wrapper, content: null }, ...rest] } }
}

/** Deep equality of JSON values; iterative, since a hostile log can nest deeper than the stack. */
function isSameJson(left: unknown, right: unknown): boolean {
  const pending: [unknown, unknown][] = [[left, right]]
  for (let pair = pending.pop(); pair; pair = pending.pop()) {
    const [a, b] = pair
    if (a === b) continue
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false
      for (let index = 0; index < a.length; index++) pending.push([a[index], b[index]])
      continue
    }
    if (!isObject(a) || !isObject(b)) return false
    const keys = Object.keys(a)
    if (keys.length !== Object.keys(b).length) return false
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false
      pending.push([a[key], b[key]])
    }
  }
  return true
}
