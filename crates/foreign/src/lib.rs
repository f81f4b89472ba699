//! Tools that other programs serve over the Model Context Protocol: started or reached, listed, called, and ended with us.
#![forbid(unsafe_code)]
