// A worker thread that frames documents and counts the steps. V8 counts only functions that are compiled after the
// count began, so the framer is loaded afterwards, in a thread of its own.
import { type Profiler, Session } from 'node:inspector'
import { parentPort } from 'node:worker_threads'

/** Asks for the steps of framing a text that is repeated up to a number of bytes. */
export interface StepsRequest {
  text: string
  bytes: number
  maxRecordBytes: number
}

const chunkBytes = 2 ** 11

const session = new Session()
session.connect()
// The session is in this thread, so each answer arrives before `post` returns.
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
const { RecordFramer } = await import('../records.ts')

/** Bytes that native code has read. */
let nativeSteps = 0
const { indexOf, includes } = Buffer.prototype
Buffer.prototype.indexOf = function (...args: Parameters<typeof indexOf>) {
  const found = indexOf.apply(this, args)
  nativeSteps += (found === -1 ? this.length : found) - Number(args[1] ?? 0)
  return found
}
Buffer.prototype.includes = function (...args: Parameters<typeof includes>) {
  nativeSteps += this.length
  return includes.apply(this, args)
}
const { concat } = Buffer
Buffer.concat = (...args: Parameters<typeof concat>) => {
  const joined = concat(...args)
  nativeSteps += joined.length
  return joined
}

parentPort?.on('message', (request: StepsRequest) => parentPort?.postMessage(countSteps(request)))

function countSteps({ text, bytes, maxRecordBytes }: StepsRequest): number {
  const document = Buffer.alloc(bytes, text)
  const framer = new RecordFramer(0, maxRecordBytes)
  takeBlocks()
  nativeSteps = 0
  for (let at = 0; at < bytes; at += chunkBytes) framer.push(document.subarray(at, at + chunkBytes))
  framer.end()
  return nativeSteps + takeBlocks()
}

/** Returns how often blocks of this package have run since the last call. */
function takeBlocks(): number {
  let scripts: Profiler.ScriptCoverage[] = []
  session.post('Profiler.takePreciseCoverage', (failure, { result }) => {
    if (failure) throw failure
    scripts = result
  })
  const counted = scripts.filter(({ url }) => url.includes('/packages/engine/csv/src/') && !url.includes('/testing/'))
  const blocks = counted.flatMap(({ functions }) => functions).flatMap(({ ranges }) => ranges)
  return blocks.reduce((sum, { count }) => sum + count, 0)
}
