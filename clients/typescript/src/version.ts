/** The version of this package, which is that of the program it belongs to. */
export const VERSION = "0.1.0";
