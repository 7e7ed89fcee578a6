// The rule on `developer/message` of version 4: each `tool-addition` is bound to one tool of an earlier `request/header`
// (FORMAT.md section 5).

import { isObject } from '../decode/shape.ts'
import { briefText } from '../text/json-bytes.ts'
import type { SurfaceEvent } from '../types.ts'
import { type FoldViolation, violation } from './violation.ts'

/** The tools that the request headers of one log name, and the rule on what may be added of them. */
export class ToolAdditions {
  readonly #version: number
  /** Names of the tools of each `request/header`; headers that name the same tools share one list. */
  readonly #toolsOfHeader = new Map<number, readonly string[]>()
  #lastTools: readonly string[] = []

  constructor(version: number) {
    this.#version = version
  }

  /** Remembers a `request/header`, to which later `developer/message` events may refer. */
  noteRequestHeader(seq: number, data: () => unknown): void {
    if (this.#version !== 4) return
    const tools = toolNamesOf(data())
    if (!tools) return
    const last = this.#lastTools
    const isSame = tools.length === last.length && tools.every((name, at) => name === last[at])
    if (!isSame) this.#lastTools = tools
    this.#toolsOfHeader.set(seq, this.#lastTools)
  }

  /** Judges a `developer/message`; `undefined` when it keeps the rule. */
  check(event: SurfaceEvent): FoldViolation | undefined {
    if (this.#version !== 4) return undefined
    const data = event.data()
    if (!isObject(data) || !isObject(data.message) || !Array.isArray(data.message.content)) return undefined
    const additions = data.message.content.filter((block) => isObject(block) && block.type === 'tool-addition')
    const broken = (expected: string, actual: unknown) =>
      violation(
        'developer-binding',
        event.seq,
        'A developer/message is not bound to its request header',
        expected,
        actual,
      )
    if (additions.length === 0) {
      return data.headerSeq === undefined ? undefined : broken('no headerSeq without a tool-addition', data.headerSeq)
    }
    const { headerSeq } = data
    const tools = typeof headerSeq === 'number' ? this.#toolsOfHeader.get(headerSeq) : undefined
    if (!tools) return broken('headerSeq of an earlier request/header with tools', headerSeq ?? null)
    for (const { toolName } of additions) {
      if (typeof toolName !== 'string') return broken('the name of a tool', toolName ?? null)
      const matches = tools.filter((name) => name === toolName).length
      if (matches !== 1) return broken(`exactly one tool named ${briefText(toolName)} in that header`, matches)
    }
    return undefined
  }
}

/** The names of the tools a `request/header` payload lists, or `undefined` when it lists none. */
function toolNamesOf(data: unknown): string[] | undefined {
  const tools = isObject(data) && isObject(data.header) ? data.header.tools : undefined
  if (!Array.isArray(tools)) return undefined
  return tools.map((tool) => (isObject(tool) ? tool.name : tool)).filter((name) => typeof name === 'string')
}
