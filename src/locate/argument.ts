// What a session argument names, before anything is looked up (DESIGN.md section 4). Finding it is locate.ts.

import { resolve, sep } from 'node:path'
import { decodeSessionUri, parseReferenceText } from '../reference/uri.ts'
import { exists } from './exists.ts'

/** What a session argument is. */
export type SessionArgument =
  | { readonly kind: 'stdin' }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'id'; readonly sessionId: string; readonly label?: string; readonly allowPrefix: boolean }

/** Shortest prefix of an id that may stand for it. */
export const MIN_PREFIX_LENGTH = 6

/** The end of a name that a path may have without a separator. */
export const LOG_NAME = /\.jsonl(?:\.zstd?)?$/

/**
 * Reads a session argument (DESIGN.md section 4): URI, mention, `-`, existing path, id. `id:` and `path:` force a reading.
 * Throws `INVALID_REFERENCE` for a malformed URI or mention.
 */
export function parseSessionArgument(argument: string, cwd: string): SessionArgument {
  if (argument.startsWith('id:')) return { kind: 'id', sessionId: argument.slice(3), allowPrefix: true }
  if (argument.startsWith('path:')) return { kind: 'path', path: resolve(cwd, argument.slice(5)) }
  if (argument.startsWith('dsh-session:')) {
    return { kind: 'id', sessionId: decodeSessionUri(argument), allowPrefix: false }
  }
  const mention = wholeMention(argument)
  if (mention) return { kind: 'id', ...mention, allowPrefix: false }
  if (argument === '-') return { kind: 'stdin' }
  const looksLikePath = argument.includes('/') || argument.includes(sep) || LOG_NAME.test(argument)
  const path = resolve(cwd, argument)
  if (looksLikePath && exists(path)) return { kind: 'path', path }
  return { kind: 'id', sessionId: argument, allowPrefix: true }
}

function wholeMention(argument: string): { sessionId: string; label: string } | undefined {
  if (!argument.startsWith('@[') || !argument.endsWith(')')) return undefined
  const { text, references } = parseReferenceText(argument)
  const [reference, ...others] = references
  return reference && others.length === 0 && text === `@${reference.label}` ? reference : undefined
}
