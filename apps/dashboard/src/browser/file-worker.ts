import type { Plan } from './conversion/plan.ts'
import type { OtherText } from './conversion/utf8-check.ts'
import { convertFile, findOtherText, NotConverted, type WholeFile } from './file-tasks.ts'

// A worker that reads whole files for the data import page, so that the page stays responsive. It runs one task.

export type FileTask =
  | ({ task: 'check' } & WholeFile)
  | ({ task: 'convert'; plan: Plan; limitBytes: number } & WholeFile)

/** What the worker posts: any number of `read` reports, then one report of another kind. */
export type FileReport =
  | { read: number }
  | { otherText: OtherText | undefined }
  | { converted: Blob }
  | { problem: string | undefined }

/** The pause between two reports of progress, ms. */
const intervalMs = 100

const post = (report: FileReport) => self.postMessage(report)

let lastReport = 0
function reportRead(read: number): void {
  const now = performance.now()
  if (now - lastReport < intervalMs) return
  lastReport = now
  post({ read })
}

async function run(task: FileTask): Promise<FileReport> {
  if (task.task === 'check') return { otherText: await findOtherText(task, reportRead) }
  return { converted: await convertFile(task, task.plan, task.limitBytes, reportRead) }
}

self.addEventListener('message', ({ data }: MessageEvent<FileTask>) => {
  run(data).then(post, (error: unknown) => {
    post({ problem: error instanceof NotConverted ? error.message : undefined })
  })
})
