// The logs of the benchmark in bench/data, made when they are not there yet: raw and zstd, of any size, always the same.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectSegment } from '../src/locate/paths.ts'
import { LOG_KINDS, type LogKind, writeConversation, writeLog } from './make-logs.ts'

/** Raise the number when make-logs.ts or compress.ts give other bytes than before. */
const GENERATION = 2

/** Most sessions are short. */
const SHORT_LOG_BYTES = 8000

/** How a log is stored: raw, in a frame for each batch of rows, or in one frame behind the header. */
export type Storage = 'raw' | 'batches' | 'whole'

/** Makes logs below one directory. */
export class BenchData {
  readonly #directory: string
  readonly #zstdNode: string | undefined

  /** `zstdNode`: a Node with zstd, by whose path zstd logs are written. */
  constructor(directory: string, zstdNode: string | undefined) {
    this.#directory = join(directory, `generation-${GENERATION}`)
    this.#zstdNode = zstdNode
    mkdirSync(this.#directory, { recursive: true })
  }

  /** Path of a log of about this many megabytes; `undefined` for a zstd log when nothing can write one. */
  log(kind: LogKind, megabytes: number, storage: Storage = 'raw'): string | undefined {
    const raw = this.#made(`${kind.name}-${megabytes}.jsonl`, (path) => writeLog(path, kind, megabytes * 1e6))
    if (storage === 'raw') return raw
    return this.#compressed(`${kind.name}-${megabytes}-${storage}.jsonl.zstd`, raw, storage)
  }

  /** Root of a home of zstd logs, about 40 MB, and the paths of the logs; each has a title of its own. */
  library(sessions: number): { root: string; logs: string[] } | undefined {
    const root = join(this.#directory, `library-${sessions}`)
    const logs: string[] = []
    for (let at = 0; at < sessions; at++) {
      const kind = LOG_KINDS[at % LOG_KINDS.length] as LogKind
      const id = `library-${at}`
      const directory = join(root, projectSegment('/work/bench'), id)
      const raw = this.#made(`library-${at}.jsonl`, (path) => writeLog(path, kind, 3e6, at + 1, id))
      const name = kind.version === 0 ? 'session.jsonl.zstd' : `session.v${kind.version}.jsonl.zstd`
      const log = this.#compressed(join(directory, name), raw, 'batches')
      if (log === undefined) return undefined
      logs.push(log)
    }
    return { root, logs }
  }

  /** Root of a home of so many short raw logs, as most sessions are. */
  home(sessions: number): string {
    const root = join(this.#directory, `home-${sessions}`)
    if (existsSync(root)) return root
    process.stderr.write(`making ${root}\n`)
    for (let at = 0; at < sessions; at++) {
      const kind = LOG_KINDS[at % LOG_KINDS.length] as LogKind
      const id = `session-${at}`
      const directory = join(`${root}.part`, projectSegment(`/work/bench-${at % 40}`), id)
      mkdirSync(directory, { recursive: true })
      const name = kind.version === 0 ? 'session.jsonl' : `session.v${kind.version}.jsonl`
      writeLog(join(directory, name), kind, SHORT_LOG_BYTES, at + 1, id, `/work/bench-${at % 40}`)
    }
    renameSync(`${root}.part`, root)
    return root
  }

  /**
   * Root of a home of so many logs of about 1 MB, and a directory with the texts of the conversation of each in a file, as
   * `rg` searches them; most of a log is results of tools.
   */
  conversations(sessions: number): { root: string; texts: string } {
    const root = join(this.#directory, `conversations-${sessions}`)
    const texts = join(this.#directory, `texts-${sessions}`)
    if (existsSync(root)) return { root, texts }
    process.stderr.write(`making ${root}\n`)
    mkdirSync(texts, { recursive: true })
    for (let at = 0; at < sessions; at++) {
      const id = `session-${at}`
      const cwd = `/work/bench-${at % 40}`
      const directory = join(`${root}.part`, projectSegment(cwd), id)
      mkdirSync(directory, { recursive: true })
      const said = writeConversation(join(directory, 'session.v4.jsonl'), {
        id,
        cwd,
        seed: at + 1,
        bytes: 1e6,
        saidBytes: 4e4,
      })
      writeFileSync(join(texts, `${id}.txt`), said)
    }
    renameSync(`${root}.part`, root)
    return { root, texts }
  }

  #compressed(name: string, raw: string, storage: Storage): string | undefined {
    const node = this.#zstdNode
    if (node === undefined) return undefined
    const program = new URL('../compress.ts', import.meta.url).pathname
    return this.#made(name, (path) => execFileSync(node, [program, raw, path, storage], { stdio: 'inherit' }))
  }

  #made(name: string, make: (path: string) => void): string {
    const path = name.startsWith(this.#directory) ? name : join(this.#directory, name)
    if (existsSync(path)) return path
    mkdirSync(dirname(path), { recursive: true })
    process.stderr.write(`making ${path}\n`)
    make(`${path}.part`)
    renameSync(`${path}.part`, path)
    return path
  }
}
