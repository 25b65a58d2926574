import type { Scenario } from '../scenario.ts'
import { bucketUpload } from './bucket-upload.ts'
import { deletion } from './deletion.ts'
import { exportProfiles } from './export.ts'
import { cancel, changes, firstImport, held, identicalRows, mail, twoMembers, undo } from './imports.ts'
import { move } from './move.ts'
import { dryRun, v2Request } from './requests.ts'

export const scenarios: readonly Scenario[] = [
  firstImport,
  changes,
  identicalRows,
  twoMembers,
  cancel,
  undo,
  held,
  dryRun,
  exportProfiles,
  deletion,
  bucketUpload,
  v2Request,
  mail,
  move,
]
