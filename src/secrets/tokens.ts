// Finds the tokens of the table (patterns.ts): one pass for all literals, then a pattern where one of them stands.

import { blankEscapes, isAfterEscape } from './escapes.ts'
import type { Find } from './kinds.ts'
import { INNER_PATTERNS, TOKEN_PATTERNS, type TokenPattern } from './patterns.ts'
import { isStandIn } from './placeholder.ts'

interface Attempt extends TokenPattern {
  readonly pattern: RegExp
}

const ATTEMPTS = TOKEN_PATTERNS.map(
  (token): Attempt => ({ ...token, pattern: new RegExp(escaped(token.literal) + token.rest, 'dy') }),
)

/** What is tried where each opening stands. An opening is a literal that begins with no other one: `sk-`, not `sk-ant-`. */
const BY_OPENING = new Map(
  [...new Set(TOKEN_PATTERNS.map(({ literal }) => literal))]
    .filter((literal, _, all) => !all.some((other) => other !== literal && literal.startsWith(other)))
    .map((opening) => [opening, ATTEMPTS.filter(({ literal }) => literal.startsWith(opening))]),
)

const OPENINGS = new RegExp([...BY_OPENING.keys()].map(escaped).join('|'), 'g')

/** All tokens of a text, in no order; they may overlap. */
export function findTokens(text: string): Find[] {
  const finds: Find[] = []
  OPENINGS.lastIndex = 0
  for (let hit = OPENINGS.exec(text); hit !== null; hit = OPENINGS.exec(text)) {
    // One further only: an opening may stand in another one.
    OPENINGS.lastIndex = hit.index + 1
    const isBeginning = !endsWord(text.charCodeAt(hit.index - 1)) || isAfterEscape(text, hit.index)
    for (const attempt of BY_OPENING.get(hit[0]) ?? []) {
      if (isBeginning || attempt.inside) tryAt(text, hit.index, attempt, finds)
    }
  }
  const blanked = blankEscapes(text)
  for (const { kind, literal, pattern, accepts } of INNER_PATTERNS) {
    if (!blanked.includes(literal)) continue
    for (const match of blanked.matchAll(pattern)) addFind(finds, kind, match.indices?.[1], match[1], accepts)
  }
  return finds
}

function tryAt(text: string, at: number, { kind, pattern, group, accepts }: Attempt, finds: Find[]): void {
  pattern.lastIndex = at
  const match = pattern.exec(text)
  if (match !== null) addFind(finds, kind, match.indices?.[group ?? 0], match[group ?? 0], accepts)
}

function addFind(
  finds: Find[],
  kind: Find['kind'],
  range: [number, number] | undefined,
  secret: string | undefined,
  accepts?: (secret: string) => boolean,
): void {
  if (range === undefined || secret === undefined) return
  if (!isStandIn(secret) && (accepts === undefined || accepts(secret))) {
    finds.push({ kind, start: range[0], end: range[1] })
  }
}

/** Whether a UTF-16 code unit is a letter or a digit of ASCII; before the text there is none. */
function endsWord(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a)
}

function escaped(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
