// The private cache of the list: headers, titles and health of logs that were read before, each good for exactly the file
// it came from. Whatever is wrong with the cache costs time, never correctness. Which logs there are is candidates.ts.

import { lstatSync, mkdirSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { isOfSystem } from '../errors.ts'
import type { Undisturbed } from '../files/atomic-file.ts'
import { isOurs } from '../files/ownership.ts'
import { WriteGuard } from '../files/write-guard.ts'
import { encodeEntries } from './index-encoding.ts'
import type { IndexEntry } from './index-entry.ts'
import { IndexFile, MAX_ENTRIES } from './index-file.ts'
import type { Kept } from './index-layout.ts'
import { decodeEntries } from './stored-entry.ts'

const FILE_NAME = 'titles'

/** The file beside it that says where texts are kept (search/text-cache.ts). */
export const TEXT_INDEX_NAME = 'texts'

const DAY_MILLISECONDS = 86_400_000

/** Where the cache is: `$DSH_REF_CACHE_DIR`, else below `$XDG_CACHE_HOME`, else `~/.cache`. */
export function cacheDirectory(env: Readonly<Record<string, string | undefined>>, home: string): string {
  if (env.DSH_REF_CACHE_DIR) return resolve(env.DSH_REF_CACHE_DIR)
  // The XDG rules: a relative path is to be ignored.
  const base = env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : join(home, '.cache')
  return join(base, 'dsh-ref')
}

/** The index in memory; `openTitleIndex` fills it. */
export class TitleIndex {
  readonly #directory: string
  readonly #today: number
  #entries = new Map<string, Kept>()
  #file: IndexFile | undefined
  #isChanged = false
  readonly #undisturbed: Undisturbed

  constructor(directory: string, now: number, undisturbed: Undisturbed = (work) => work()) {
    this.#directory = directory
    this.#undisturbed = undisturbed
    this.#today = Math.floor(now / DAY_MILLISECONDS)
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size
  }

  /** Fills the index from its file, if there is one to be trusted. */
  load(): void {
    try {
      this.#file = new IndexFile(join(this.#directory, FILE_NAME))
      this.#entries = decodeEntries(this.#file)
    } catch {
      this.#file?.close() // missing, unreadable, damaged or not ours: there is nothing to go by
    }
  }

  /** The entry of a session directory, by its absolute path. Its details may throw `IndexDamaged`. */
  get(sessionDirectory: string): IndexEntry | undefined {
    const kept = this.#entries.get(sessionDirectory)
    if (!kept) return undefined
    if (kept.seen !== this.#today) {
      // Once a day: a list that changed nothing else shall not write.
      kept.seen = this.#today
      this.#isChanged = true
    }
    return kept.entry
  }

  /** Puts an entry in the place of the one there was. */
  set(sessionDirectory: string, entry: IndexEntry): void {
    this.#entries.set(sessionDirectory, { entry, seen: this.#today })
    this.#isChanged = true
  }

  /** Forgets everything, as if there had been no file. */
  clear(): void {
    this.#entries.clear()
    this.#isChanged = true
  }

  /**
   * Writes the index when it has changed, and lets go of its file. Another process that does the same at the same time
   * takes nothing but time: the file is replaced whole, and what one of the two learned is read again. A cache that cannot
   * be written is none.
   */
  async save(): Promise<void> {
    try {
      if (this.#isChanged) await this.#write()
      this.#isChanged = false
    } catch (error) {
      if (!isOfSystem(error)) throw error
    } finally {
      this.#file?.close()
    }
  }

  async #write(): Promise<void> {
    const isAll = this.#entries.size <= MAX_ENTRIES
    const lastSeen = isAll
      ? this.#entries
      : [...this.#entries].sort(([, one], [, other]) => other.seen - one.seen).slice(0, MAX_ENTRIES)
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    if (!isOurs(statSync(this.#directory))) return
    const { writeFileAtomic } = await import('../files/atomic-file.ts')
    // Its checksums tell a file that the disk never got whole.
    const bytes = encodeEntries(lastSeen)
    await this.#undisturbed(() => writeFileAtomic(join(this.#directory, FILE_NAME), bytes, { isSynced: false }))
  }
}

/**
 * Opens the index in `directory`; one that is missing, damaged, of another format or writable for others is empty. Throws
 * `INVALID_CONFIG` when the guard of `roots` and of the `logs` that are read allows no writing there. `undisturbed` writes it.
 */
export function openTitleIndex(
  directory: string,
  roots: readonly string[],
  now = Date.now(),
  logs: readonly string[] = [],
  undisturbed?: Undisturbed,
): TitleIndex {
  const guard = new WriteGuard(roots, logs)
  const advice = 'name one elsewhere with $DSH_REF_CACHE_DIR or $XDG_CACHE_HOME'
  guard.allow({ path: directory, what: 'cache directory', advice })
  for (const [name, what] of [
    [FILE_NAME, 'title index'],
    [TEXT_INDEX_NAME, 'text index'],
  ] as const) {
    const path = join(directory, name)
    if (hasOtherNames(path)) guard.allow({ path, what, advice })
  }
  const index = new TitleIndex(directory, now, undisturbed)
  index.load()
  return index
}

/** Whether a file is, or may be, one of somewhere else. */
function hasOtherNames(path: string): boolean {
  try {
    const state = lstatSync(path)
    return state.isSymbolicLink() || state.nlink > 1
  } catch {
    return false // nothing there to be replaced
  }
}
