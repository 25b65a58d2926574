export { CannotDecrypt, decrypt, type EncryptionKeys, encrypt, isCurrent, keyNameBytes, nameOf } from './encryption.ts'
