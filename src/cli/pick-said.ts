// The search of `dsh-ref pick` for what was said, loaded when somebody asks for it. Which sessions are found and in what order
// is search/search.ts, how their lines look render/search.ts.

import type { ListProgress } from '../list/list-options.ts'
import { cacheDirectory } from '../list/title-index.ts'
import { renderFound } from '../render/search.ts'
import type { FoundSession } from '../search/found.ts'
import { boundedLine } from '../search/lines.ts'
import { queryOf } from '../search/query.ts'
import { type SearchOptions, searchSessions } from '../search/search.ts'
import { openTextCache } from '../search/text-cache.ts'
import { titleIndexOf } from './cache.ts'
import type { CommandContext } from './print.ts'
import { hearSignals } from './signals.ts'

/** Matching lines shown of a session, lines around each, and UTF-16 units of a line that are looked at. */
const SHOWN_LINES = 3
const AROUND = 1
const LINE_LENGTH = 1000

/** What a search for what was said gave. */
export interface Said {
  /** What was typed for it. */
  readonly typed: string
  /** Best first. */
  readonly found: readonly FoundSession[]
  /** The best lines of a session as they are shown in so many columns. */
  linesOf(session: FoundSession, columns: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** What the search is to go by. */
export interface SaidOptions extends Omit<SearchOptions, 'query' | 'texts' | 'index' | 'onProgress'> {
  /** The option `--target`. */
  readonly targetGiven: string | undefined
  readonly onProgress: (progress: ListProgress) => void
}

/** Searches the conversations of all sessions for words, as `dsh-ref search` does. Throws as `searchSessions` and `queryOf` do. */
export async function searchSaid(
  typed: string,
  { targetGiven, ...options }: SaidOptions,
  context: CommandContext,
): Promise<Said> {
  const query = queryOf([typed], {})
  const answer = await searchSessions({
    ...options,
    query,
    mask: context.secrets?.rules.redacts ? context.secrets.mask : undefined,
    index: titleIndexOf(targetGiven, context, options.roots),
    texts: openTextCache(cacheDirectory(context.env, context.home), { undisturbed: hearSignals }),
  })
  const chalk = context.stderr.hasColor ? new (await import('chalk')).Chalk({ level: 1 }) : undefined
  const { secrets } = context
  return {
    typed,
    found: secrets?.rows(answer.found) ?? answer.found,
    async linesOf(session, columns) {
      const original = answer.found.find(({ sessionId }) => sessionId === session.sessionId) ?? session
      const mask = secrets?.rules.redacts ? secrets.mask : undefined
      const lines = (await answer.linesOf(original, AROUND, mask)).map((line) => boundedLine(line, LINE_LENGTH))
      const shown = renderFound(session, lines, { columns, home: context.home, maxLines: SHOWN_LINES }, chalk)
      // Its head stands in the list already.
      return shown.trimEnd().split('\n').slice(1)
    },
    close: () => answer.close(),
  }
}
