import type { Scenario } from '../scenario.ts'
import { bucketUpload } from './bucket-upload.ts'
import { cancel } from './cancel.ts'
import { deletion } from './deletion.ts'
import { dryRun } from './dry-run.ts'
import { exportProfiles } from './export.ts'
import { changes, firstImport, identicalRows, mail, twoMembers } from './imports.ts'
import { v2Request } from './v2-request.ts'

export const scenarios: readonly Scenario[] = [
  firstImport,
  changes,
  identicalRows,
  twoMembers,
  cancel,
  dryRun,
  exportProfiles,
  deletion,
  bucketUpload,
  v2Request,
  mail,
]
