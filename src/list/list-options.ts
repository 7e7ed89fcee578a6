// What a list of sessions can be asked for.

import type { DecodeOptions } from '../decode/decode.ts'
import type { Health } from './session.ts'
import type { TitleIndex } from './title-index.ts'

/** Filters, order and depth of a list. */
export interface ListOptions extends Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder'> {
  /** Directories with session logs, in order. */
  readonly roots: readonly string[]
  /** The session that receives: left out, and its cwd ranks first. Its cwd is taken at the caller's word. */
  readonly target?: { readonly sessionId: string; readonly cwd?: string } | undefined
  /** Substring of id, cwd or title, whatever the case and the Unicode normalisation. */
  readonly query?: string | undefined
  /** Rows at most, from 1 on; default 50, `Infinity` for all. */
  readonly limit?: number | undefined
  /** Only sessions of this cwd, by whatever links they spell it; several spellings of one directory may be given. */
  readonly cwds?: readonly string[] | undefined
  /** Only sessions created then or later, epoch milliseconds. */
  readonly since?: number | undefined
  /** Only sessions created then or before, epoch milliseconds. */
  readonly until?: number | undefined
  /** Only sessions whose newest stored event is of then or later, epoch milliseconds. Reads logs. */
  readonly activeSince?: number | undefined
  /** Only sessions whose newest stored event is of then or before, epoch milliseconds. Reads logs. */
  readonly activeUntil?: number | undefined
  readonly origin?: 'all' | 'main' | 'subagent' | undefined
  readonly archived?: 'show' | 'hide' | 'only' | undefined
  readonly formatVersion?: number | undefined
  readonly health?: Health | undefined
  /** Default: the ranking of the service, by workspace of the target and then by creation. */
  readonly sort?: SortKey | undefined
  /** `headers` reads no log whole unless a filter or the order needs it. Default: `titles`. */
  readonly depth?: 'headers' | 'titles' | undefined
  /** Rows for logs without a readable header too, last. Their issues are reported in any case. */
  readonly includeUnreadable?: boolean | undefined
  /** Default: none. */
  readonly index?: TitleIndex | undefined
  /** Told after each log that was read whole. */
  readonly onProgress?: ((progress: ListProgress) => void) | undefined
}

/** Orders other than the ranking; times and sizes from the greatest down. */
export type SortKey = 'created' | 'updated' | 'title' | 'size'

/** How far the reading of logs has come. */
export interface ListProgress {
  readonly logsRead: number
  /** Logs that may have to be read at most. */
  readonly logs: number
}
