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
export { accessKeyFinder, appOfSignedRequest, type FoundAccessKey } from './find.ts'
