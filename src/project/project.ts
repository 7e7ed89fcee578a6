// Projection: from the surface to the conversation, the text a person and the assistant exchanged. Folding comes before
// (fold.ts), cutting to a budget after (retain.ts).
import type { ProjectedMessage, SurfaceMessage } from '../types.ts'

/** A conversation as projected; `compacted` says that a checkpoint is among its messages. */
export interface Projection {
  readonly messages: ProjectedMessage[]
  readonly compacted: boolean
}

/**
 * Keeps the conversation of a surface, in surface order and with its exact text (FORMAT.md section 4.3).
 *
 * @example
 * const log = await locateSession('scratch', { roots: [root] })
 * const { messages } = await readSurface(sourceOf(log))
 * project(messages).messages.map(({ role }) => role) // => ['user', 'assistant']
 */
export function project(messages: Iterable<SurfaceMessage>): Projection {
  const kept: ProjectedMessage[] = []
  for (const message of messages) {
    if (!hasText(message)) continue
    const { seq, type, sourceKind, checkpoint, text, textBytes } = message
    const counted = textBytes === undefined ? undefined : { textBytes }
    if (type === 'assistant/message') kept.push({ seq, role: 'assistant', text, checkpoint: false, ...counted })
    else if (type === 'user/message' && (checkpoint || sourceKind === 'user')) {
      kept.push({ seq, role: 'user', text, checkpoint, ...counted })
    }
  }
  return { messages: kept, compacted: kept.some((message) => message.checkpoint) }
}

/**
 * How many turns of the person projection drops because they hold no text: they are images or files only.
 */
export function turnsWithoutText(messages: Iterable<SurfaceMessage>): number {
  let turns = 0
  for (const message of messages) {
    if (message.type === 'user/message' && message.sourceKind === 'user' && !hasText(message)) turns++
  }
  return turns
}

/** Whether there is text, be it only counted. */
function hasText({ text, textBytes = 0 }: SurfaceMessage): boolean {
  return text !== '' || textBytes > 0
}

/** What is said of such turns; `undefined` when there are none. */
export function textlessSentence(turns: number): string | undefined {
  if (turns === 0) return undefined
  return turns === 1
    ? '1 turn of the user holds no text (only images or files, or nothing) and is left out.'
    : `${turns} turns of the user hold no text (only images or files, or nothing) and are left out.`
}
