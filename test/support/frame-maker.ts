// Puts the bytes of a log into the frames of a zstd file, and damages those: a frame is lost, cut off, or not what it says. What a
// reader must find is said in the terms of the reference reader.

import { Random } from './log-maker.ts'
import { type Block, type FrameFields, rawBlocks, writeFrame } from './zstd-writer.ts'

/** A zstd log and what there is to be read in it. */
export interface MadeFrames {
  readonly bytes: Buffer
  /** Which damage, and where. */
  readonly what: string
  /** Contents for the reference reader; absent when the file must be refused as corrupt whatever the frames hold. */
  readonly frames?: { readonly complete: readonly Uint8Array[]; readonly torn?: Uint8Array }
}

interface Frame {
  readonly content: Buffer
  readonly blocks: readonly Block[]
  readonly fields: FrameFields
}

/** Makes the file of a log whose rows may be damaged already. */
export function makeFrames(seed: number, log: Uint8Array): MadeFrames {
  const random = new Random(seed ^ 0x5f3759df)
  const frames = contentsOf(random, log).map((content) => frameOf(random, content))
  const damage = DAMAGES[random.below(DAMAGES.length)] as Damage
  return damage(random, frames)
}

/** The header in a frame of its own, then rows, now and then cut inside a row or empty. */
function contentsOf(random: Random, log: Uint8Array): Buffer[] {
  const bytes = Buffer.from(log)
  const headerEnd = bytes.indexOf(10) + 1
  const contents = [bytes.subarray(0, headerEnd)]
  for (let at = headerEnd; at < bytes.length; ) {
    const target = at + 1 + random.below(random.chance(0.3) ? 4000 : 300)
    const newline = bytes.indexOf(10, target)
    const end = random.chance(0.02) ? target : newline === -1 ? bytes.length : newline + 1
    contents.push(bytes.subarray(at, end))
    at = Math.min(end, bytes.length)
    if (random.chance(0.03)) contents.push(Buffer.alloc(0))
  }
  return contents
}

function frameOf(random: Random, content: Buffer): Frame {
  const blocks = rawBlocks(content, random.chance(0.5) ? 128 * 1024 : 1 + random.below(200))
  const isSingleSegment = content.length > 0 && random.chance(0.2)
  const width = content.length < 256 ? 1 : content.length < 65_792 ? 2 : 4
  if (isSingleSegment) {
    // A single segment is its own window, and no block may be larger than that.
    return { content, blocks: rawBlocks(content), fields: { isSingleSegment, contentSizeWidth: width } }
  }
  return { content, blocks, fields: random.chance(0.2) && width > 1 ? { contentSizeWidth: width } : {} }
}

type Damage = (random: Random, frames: readonly Frame[]) => MadeFrames

const written = ({ blocks, fields }: Frame) => writeFrame(blocks, fields)

function fileOf(frames: readonly Frame[], what: string): MadeFrames {
  return { bytes: Buffer.concat(frames.map(written)), what, frames: { complete: frames.map(({ content }) => content) } }
}

const DAMAGES: readonly Damage[] = [
  (_random, frames) => fileOf(frames, 'no damage to the frames'),
  cutOff,
  cutOff,
  (random, frames) => {
    const at = random.below(frames.length)
    return fileOf([...frames.slice(0, at), ...frames.slice(at + 1)], `frame ${at + 1} is lost`)
  },
  (random, frames) => {
    const at = random.below(frames.length)
    return fileOf([...frames.slice(0, at + 1), ...frames.slice(at)], `frame ${at + 1} stands twice`)
  },
  (random, frames) => {
    const at = random.below(frames.length)
    const [one, other] = [frames[at] as Frame, frames[(at + 1) % frames.length] as Frame]
    const swapped = frames.map((frame) => (frame === one ? other : frame === other ? one : frame))
    return fileOf(swapped, `frame ${at + 1} has changed places with the next`)
  },
  (random, frames) => {
    const at = random.below(frames.length)
    return refused(frames, at, { checksum: random.below(2 ** 31) }, 'has another checksum')
  },
  (random, frames) => {
    const at = random.below(frames.length)
    const size = (frames[at] as Frame).content.length + 256 + random.below(1000)
    return refused(frames, at, { contentSizeWidth: 4, contentSize: size, isSingleSegment: false }, 'says another size')
  },
  (random, frames) => refused(frames, random.below(frames.length), { extraBits: 0x08 }, 'has a reserved bit'),
  (random, frames) => {
    const parts = frames.map(written)
    const at = random.below(parts.length + 1)
    const skippable = Buffer.concat([Buffer.of(0x50 + random.below(16), 0x2a, 0x4d, 0x18, 4, 0, 0, 0), Buffer.alloc(4)])
    return { bytes: Buffer.concat([...parts.slice(0, at), skippable, ...parts.slice(at)]), what: `skippable at ${at}` }
  },
  (random, frames) => {
    const parts = frames.map(written)
    const at = random.below(parts.length)
    const part = Buffer.from(parts[at] as Buffer)
    const frame = frames[at] as Frame
    if (frame.content.length === 0) return fileOf(frames, 'no damage to the frames')
    // A bit of the content: what stands last before the checksum.
    const bit = part.length - 5 - random.below(Math.min((frame.blocks.at(-1) as Block).size, 100))
    part[bit] = (part[bit] as number) ^ (1 << random.below(8))
    return {
      bytes: Buffer.concat([...parts.slice(0, at), part, ...parts.slice(at + 1)]),
      what: `bit in frame ${at + 1}`,
    }
  },
]

function refused(frames: readonly Frame[], at: number, fields: FrameFields, what: string): MadeFrames {
  const parts = frames.map((frame, index) =>
    index === at ? writeFrame(frame.blocks, { ...frame.fields, ...fields }) : written(frame),
  )
  return { bytes: Buffer.concat(parts), what: `frame ${at + 1} ${what}` }
}

/** The file ends somewhere in a frame: its complete blocks are there, and of a raw block what has come of it. */
function cutOff(random: Random, frames: readonly Frame[]): MadeFrames {
  const at = random.below(frames.length)
  const frame = frames[at] as Frame
  const part = written(frame)
  const cut = 1 + random.below(part.length - 1)
  const before = frames.slice(0, at)
  const stored = frame.blocks.reduce((sum, { stored }) => sum + 3 + stored.length, 0)
  let start = part.length - 4 - stored
  const content: Uint8Array[] = []
  for (const { stored } of frame.blocks) {
    start += 3
    content.push(stored.subarray(0, Math.max(0, cut - start)))
    start += stored.length
  }
  return {
    bytes: Buffer.concat([...before.map(written), part.subarray(0, cut)]),
    what: `cut off ${cut} bytes into frame ${at + 1}`,
    frames: { complete: before.map(({ content }) => content), torn: Buffer.concat(content) },
  }
}
