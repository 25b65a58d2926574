import { type Content, renderContent } from './content.ts'
import { quoted, subjectWithNames } from './quoted.ts'

/** A file in the bucket that cannot become an import. */
export interface RefusedFile {
  appName: string
  /** The object's key without the app's path. */
  fileName: string
  /** The rule that the file breaks, such as `the file name must contain no white space`. */
  problem: string
  /** Days until the file is removed. */
  removedAfterDays: number
}

/** Returns the mail about a file that breaks the rules of the bucket. */
export function refusedFileNotification({ appName, fileName, problem, removedAfterDays }: RefusedFile): Content {
  return renderContent(subjectWithNames('File not imported', { fileName, appName }), [
    `A file in the bucket of the app ${quoted(appName)} has not become a profile import: ${problem}.`,
    `File: ${quoted(fileName)}`,
    `Nothing was applied. Correct the problem and upload the file again. The refused file is removed ${removedAfterDays} days after its upload.`,
  ])
}
