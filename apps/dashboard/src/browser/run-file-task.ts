import type { Plan } from './conversion/plan.ts'
import type { OtherText } from './conversion/utf8-check.ts'
import type { WholeFile } from './file-tasks.ts'
import type { FileReport, FileTask } from './file-worker.ts'

/** How a task reports its progress, and how it is stopped. */
export interface TaskControl {
  /** Accepts the share of the file that has been read, 0 to 1. */
  onProgress: (share: number) => void
  signal: AbortSignal
}

/** A file could not be checked or converted; the message is for people. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed'
}

/**
 * Checks in a worker whether a file is UTF-8. Returns what is known of it if it is not. Throws `TaskFailed`, or the
 * reason of the signal.
 */
export async function checkInWorker(whole: WholeFile, control: TaskControl): Promise<OtherText | undefined> {
  const report = await runTask({ task: 'check', ...whole }, control)
  if ('otherText' in report) return report.otherText
  throw new TaskFailed('The file cannot be read.')
}

/** Converts a file in a worker. Throws `TaskFailed`, or the reason of the signal. */
export async function convertInWorker(
  whole: WholeFile,
  { plan, limitBytes }: { plan: Plan; limitBytes: number },
  control: TaskControl,
): Promise<Blob> {
  const report = await runTask({ task: 'convert', ...whole, plan, limitBytes }, control)
  if ('converted' in report) return report.converted
  const problem = 'problem' in report ? report.problem : undefined
  throw new TaskFailed(problem ?? 'The file could not be converted. Nothing was sent.')
}

/** Runs a task in a worker of its own. Returns its last report. */
async function runTask(task: FileTask, { onProgress, signal }: TaskControl): Promise<FileReport> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./file-worker.ts', import.meta.url), { type: 'module' })
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      worker.addEventListener('error', () => resolve({ problem: undefined }))
      worker.addEventListener('message', ({ data }: MessageEvent<FileReport>) => {
        if ('read' in data) onProgress(data.read / task.file.size)
        else resolve(data)
      })
      worker.postMessage(task)
    })
  } finally {
    worker.terminate()
  }
}
