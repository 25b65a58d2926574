export {
  type AccessKey,
  createAccessKey,
  deleteAccessKey,
  listAccessKeys,
  type NewAccessKey,
  noteUse,
  reencryptSecrets,
  TooManyAccessKeys,
} from './access-keys.ts'
export { accessKeyFinder, type FoundAccessKey } from './find.ts'
