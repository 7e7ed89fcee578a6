// Real sessions roots in temporary directories, laid out as DSH lays them out.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectSegment, sessionSegment } from '../../src/locate/paths.ts'

/** A temporary directory that its owner removes. */
export interface Home {
  readonly root: string
  /** Writes a log where its header leads; returns the path. */
  write(
    log: string | Uint8Array,
    options?: { suffix?: string; project?: string; session?: string; name?: string },
  ): string
  remove(): void
}

/** Makes an empty sessions root. */
export function makeHome(): Home {
  const root = mkdtempSync(join(tmpdir(), 'dsh-ref-test-'))
  return {
    root,
    write(log, options = {}) {
      const header = headerOf(log)
      const directory = join(
        root,
        options.project ?? projectSegment(header.cwd),
        options.session ?? sessionSegment(header.id ?? 'unnamed'),
      )
      mkdirSync(directory, { recursive: true })
      const version = header.version ?? 0
      const name = options.name ?? `session${version === 0 ? '' : `.v${version}`}.jsonl${options.suffix ?? ''}`
      const path = join(directory, name)
      writeFileSync(path, log)
      return path
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The fields of a header row that decide its place; empty when the first row is no header. */
export function headerOf(log: string | Uint8Array): { id?: string; cwd?: string; version?: number } {
  const text = typeof log === 'string' ? log : Buffer.from(log).toString('utf8')
  try {
    const header = JSON.parse(text.slice(0, text.indexOf('\n')))
    return typeof header === 'object' && header !== null ? header : {}
  } catch {
    return {} // damaged on purpose: such a log goes to a fixed place
  }
}
