// Where nothing is ever written: the sessions roots, and the logs read in this run with their directories. Every write of
// this tool asks here first. How a file is written is atomic-file.ts.

import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { type DshRefError, invalidConfig } from '../errors.ts'
import { parseLogName } from '../locate/paths.ts'

/** Something this tool is asked to write. */
export interface WriteTarget {
  /** Absolute; a file or a directory, that need not exist. */
  readonly path: string
  /** What it is, as the refusal calls it. */
  readonly what: string
  /** How to name another; ends the refusal. */
  readonly advice: string
  /** Names of the directories in it that are written to as well. */
  readonly directories?: RegExp
}

/** What tells one file from every other, whatever names it has. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
}

/** More links than this lead in a circle. */
const MAX_LINKS = 40

/** Directories between a root and its logs: project and session. */
const DEPTH_OF_LOGS = 2

/** Something that is not written to. */
interface Place {
  /** The real path. */
  readonly path: string
  readonly key: string | undefined
  /** Ends the sentence "The output file … ". */
  readonly relation: string
  readonly facts: Readonly<Record<string, string>>
}

interface KnownTarget {
  readonly target: WriteTarget
  /** What is written when links are followed. */
  readonly real: string
  /** Real paths of its name and of what it leads to, and all directories above both. */
  readonly paths: readonly string[]
  /** All these paths, and the identities of what is there. */
  readonly spots: ReadonlySet<string>
  /** The identity of the regular file that is there. */
  readonly file: string | undefined
}

/**
 * Refuses targets with `INVALID_CONFIG`: in a sessions root, also through links on either side; a log that is read, by any
 * of its names; whatever lies in a session directory. Logs that turn up later are weighed against the targets known by then.
 */
export class WriteGuard {
  readonly #roots: readonly Place[]
  readonly #read: Place[] = []
  readonly #targets: KnownTarget[] = []

  /** `logs` are files or session directories. */
  constructor(roots: readonly string[], logs: readonly string[] = []) {
    this.#roots = roots.map((root) => placeOf(root, `lies in the sessions root ${root}`, { root }))
    for (const log of logs) this.protect(log)
  }

  /** Refuses the target, or gives what its name leads to: links are followed, as a shell follows them when it redirects. */
  allow(target: WriteTarget): string {
    const known = knownTarget(target)
    this.#targets.push(known)
    for (const place of [...this.#roots, ...this.#read, ...this.#linkedPlaces(known)]) refuseIfIn(place, known)
    if (known.file !== undefined) this.#refuseSecondName(known, known.file)
    return known.real
  }

  /** Says that the log at this path, a file or a session directory, is read in this run. */
  protect(path: string): void {
    const real = realPath(path) ?? path
    const state = stateOf(real)
    const isDirectory = state?.isDirectory() === true
    const directories = isDirectory
      ? [path]
      : [path, real].filter((name) => parseLogName(basename(name))).map((name) => dirname(name))
    const places = directories.map((directory) =>
      placeOf(directory, `lies in the session directory ${directory}`, { directory }),
    )
    if (!isDirectory) places.push(placeOf(path, `is the session log ${path}`, { log: path }))
    this.#addRead(places)
  }

  /** Says the same of a log that came without a name. */
  protectOpen(identity: FileIdentity, name: string): void {
    this.#addRead([{ path: '', key: keyOf(identity), relation: `is the session log on ${name}`, facts: { log: name } }])
  }

  #addRead(places: readonly Place[]): void {
    this.#read.push(...places)
    for (const known of this.#targets) for (const place of places) refuseIfIn(place, known)
  }

  /** What links in the roots lead to. */
  *#linkedPlaces({ target, paths }: KnownTarget): Generator<Place> {
    // The links of thousands of sessions are looked through only for a target that may be in one.
    const isNearLog = target.directories !== undefined || paths.some(holdsLog)
    for (const { path, relation, facts } of this.#roots) {
      for (const project of entriesOf(path)) {
        const directory = join(path, project.name)
        if (project.isSymbolicLink()) yield placeOf(directory, relation, facts)
        if (!isNearLog) continue
        for (const session of entriesOf(directory)) {
          if (session.isSymbolicLink()) yield placeOf(join(directory, session.name), relation, facts)
        }
      }
    }
  }

  /** A file that is about to be replaced may be one of a session under another name. */
  #refuseSecondName(known: KnownTarget, file: string): void {
    for (const { path, facts } of [...this.#roots, ...this.#read]) {
      const depth = facts.root === undefined ? 0 : DEPTH_OF_LOGS
      const found = fileIn(path, file, depth)
      if (found !== undefined) throw refusal(known, `is the same file as ${found}`, { ...facts, log: found })
    }
  }
}

function refuseIfIn(place: Place, known: KnownTarget): void {
  const { directories } = known.target
  const isIn = known.spots.has(place.path) || (place.key !== undefined && known.spots.has(place.key))
  const isOver = directories?.test(basename(place.path)) && dirname(place.path) === known.real
  if (isIn || isOver) throw refusal(known, isIn ? place.relation : `holds ${place.path}`, place.facts)
}

function refusal({ target, real }: KnownTarget, relation: string, facts: Place['facts']): DshRefError {
  const { path, what, advice } = target
  const way = realName(path) === real ? '' : `, a link to ${real},`
  return invalidConfig(`The ${what} ${path}${way} ${relation}; ${advice}`, { file: path, ...facts })
}

function placeOf(path: string, relation: string, facts: Place['facts']): Place {
  const real = realPath(path) ?? path
  const state = stateOf(real)
  return { path: real, key: state && keyOf(state), relation, facts }
}

function knownTarget(target: WriteTarget): KnownTarget {
  const { path } = target
  const real = followed(path)
  const paths = [...new Set([...upwards(realName(path)), ...upwards(real)])]
  const spots = new Set(paths)
  for (const spot of paths) {
    const state = stateOf(spot)
    if (state) spots.add(keyOf(state))
  }
  const nearest = upwards(real)
    .map(stateOf)
    .find((state) => state !== undefined)
  return { target, real, paths, spots, file: nearest?.isFile() ? keyOf(nearest) : undefined }
}

/** What a name leads to, which need not exist. A device, a pipe and the like keep their name. */
function followed(path: string): string {
  const state = stateOf(path)
  if (state && !state.isFile() && !state.isDirectory()) return path
  const real = realPath(path)
  if (real !== undefined) return real
  throw invalidConfig(`${path} is a link that leads in a circle; name another place`, { file: path })
}

/** A path and all directories above it, from the longest to the shortest. */
function upwards(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [path, ...upwards(parent)]
}

/** The path of a file below a directory that is this very file. */
function fileIn(path: string, file: string, depth: number): string | undefined {
  for (const { name } of entriesOf(path)) {
    const entry = join(path, name)
    const state = stateOf(entry)
    if (state?.isFile() && keyOf(state) === file) return entry
    const found = state?.isDirectory() && depth > 0 ? fileIn(entry, file, depth - 1) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function holdsLog(directory: string): boolean {
  return entriesOf(directory).some(({ name }) => parseLogName(name) !== undefined)
}

function keyOf({ dev, ino }: FileIdentity): string {
  return `${dev}:${ino}`
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return [] // no directory, or a closed one: what cannot be listed cannot be compared either
  }
}

function stateOf(path: string) {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined // closed, or no path at all: whoever opens it says so
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined // no link, or nothing there
  }
}

/** The real path of something whose last parts, and those of what links lead to, need not exist; `undefined` in a circle. */
function realPath(path: string, links = 0): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    // Missing or closed: whoever opens it says so.
    const parent = dirname(path)
    if (parent === path) return path
    const directory = realPath(parent, links)
    if (directory === undefined) return undefined
    const name = join(directory, basename(path))
    const link = linkAt(name)
    if (link === undefined) return name
    return links < MAX_LINKS ? realPath(isAbsolute(link) ? link : directory + sep + link, links + 1) : undefined
  }
}

/** The real path of a name itself, wherever it leads. */
function realName(path: string): string {
  const parent = dirname(path)
  return join(realPath(parent) ?? parent, basename(path))
}
