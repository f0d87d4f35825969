//! The table of record types: what each is called, which numbers its header has, and its fields in
//! their order.

use std::fmt;

/// The type of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Unsigned integers of 1, 2, 4 and 8 bytes.
    U1,
    U2,
    U4,
    U8,
    /// Signed integers.
    I1,
    I2,
    I4,
    /// Floating point numbers.
    R4,
    R8,
    /// A character.
    C1,
    /// A byte of bits.
    B1,
    /// A nibble.
    N1,
    /// A text behind the count of its bytes, in one byte and in two.
    Cn,
    Sn,
    /// Bits behind the count of their bytes, in one byte.
    Bn,
    /// Bits behind their count, in two bytes.
    Dn,
    /// Values behind their count, each behind its type.
    Vn,
    /// An unsigned integer, and a text, whose bytes another field counts.
    Uf,
    Cf,
}

/// The form of a field. The positions are those of fields before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    One(Item),
    /// As many as the field at the position says.
    List(Item, usize),
    /// As many as the first field says, each with as many bytes as the second one says.
    Sized(Item, usize, usize),
}

/// A field of a type of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name that the standard gives it.
    pub name: &'static str,
    pub(super) form: Form,
}

impl Field {
    /// The type of the field as the standard writes it, such as `U*2` or `kxR*4`.
    #[must_use]
    pub fn type_name(&self) -> String {
        self.form.to_string()
    }
}

/// A type of records.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordType {
    /// The name that the standard gives it, such as `PTR`.
    pub name: &'static str,
    /// The numbers in the header of its records: `REC_TYP` and `REC_SUB`.
    pub number: (u8, u8),
    /// What its records have, in this order. A record may end before any of them.
    pub fields: &'static [Field],
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{self:?}");
        let (letter, size) = text.split_at(1);
        write!(f, "{letter}*{size}")
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(item) => item.fmt(f),
            Self::List(item, _) | Self::Sized(item, ..) => write!(f, "kx{item}"),
        }
    }
}

macro_rules! form {
    ($item:ident) => {
        Form::One(Item::$item)
    };
    ($item:ident $count:literal) => {
        Form::List(Item::$item, $count)
    };
    ($item:ident $count:literal $size:literal) => {
        Form::Sized(Item::$item, $count, $size)
    };
}

macro_rules! records {
    ($($name:ident $typ:literal $sub:literal {
        $($field:ident $item:ident $([$count:literal $($size:literal)?])?),* $(,)?
    })*) => {
        $(pub(super) static $name: RecordType = RecordType {
            name: stringify!($name),
            number: ($typ, $sub),
            fields: &[$(Field {
                name: stringify!($field),
                form: form!($item $($count $($size)?)?),
            }),*],
        };)*

        /// All types of records of STDF V4 and V4-2007.
        pub static RECORD_TYPES: &[&RecordType] = &[$(&$name),*];

        /// The type with these numbers.
        pub(super) fn record_type(typ: u8, sub: u8) -> Option<&'static RecordType> {
            match (typ, sub) {
                $(($typ, $sub) => Some(&$name),)*
                _ => None,
            }
        }
    };
}

// A list is `ITEM [n]`, where n is the position of the field that counts it, from 0; a second
// number is the position of the field that has the bytes of each.
records! {
    FAR 0 10 { CPU_TYPE U1, STDF_VER U1 }
    ATR 0 20 { MOD_TIM U4, CMD_LINE Cn }
    VUR 0 30 { UPD_NAM Cn }
    MIR 1 10 {
        SETUP_T U4, START_T U4, STAT_NUM U1, MODE_COD C1, RTST_COD C1, PROT_COD C1, BURN_TIM U2,
        CMOD_COD C1, LOT_ID Cn, PART_TYP Cn, NODE_NAM Cn, TSTR_TYP Cn, JOB_NAM Cn, JOB_REV Cn,
        SBLOT_ID Cn, OPER_NAM Cn, EXEC_TYP Cn, EXEC_VER Cn, TEST_COD Cn, TST_TEMP Cn, USER_TXT Cn,
        AUX_FILE Cn, PKG_TYP Cn, FAMLY_ID Cn, DATE_COD Cn, FACIL_ID Cn, FLOOR_ID Cn, PROC_ID Cn,
        OPER_FRQ Cn, SPEC_NAM Cn, SPEC_VER Cn, FLOW_ID Cn, SETUP_ID Cn, DSGN_REV Cn, ENG_ID Cn,
        ROM_COD Cn, SERL_NUM Cn, SUPR_NAM Cn,
    }
    MRR 1 20 { FINISH_T U4, DISP_COD C1, USR_DESC Cn, EXC_DESC Cn }
    PCR 1 30 {
        HEAD_NUM U1, SITE_NUM U1, PART_CNT U4, RTST_CNT U4, ABRT_CNT U4, GOOD_CNT U4, FUNC_CNT U4,
    }
    HBR 1 40 { HEAD_NUM U1, SITE_NUM U1, HBIN_NUM U2, HBIN_CNT U4, HBIN_PF C1, HBIN_NAM Cn }
    SBR 1 50 { HEAD_NUM U1, SITE_NUM U1, SBIN_NUM U2, SBIN_CNT U4, SBIN_PF C1, SBIN_NAM Cn }
    PMR 1 60 {
        PMR_INDX U2, CHAN_TYP U2, CHAN_NAM Cn, PHY_NAM Cn, LOG_NAM Cn, HEAD_NUM U1, SITE_NUM U1,
    }
    PGR 1 62 { GRP_INDX U2, GRP_NAM Cn, INDX_CNT U2, PMR_INDX U2 [2] }
    PLR 1 63 {
        GRP_CNT U2, GRP_INDX U2 [0], GRP_MODE U2 [0], GRP_RADX U1 [0], PGM_CHAR Cn [0],
        RTN_CHAR Cn [0], PGM_CHAL Cn [0], RTN_CHAL Cn [0],
    }
    RDR 1 70 { NUM_BINS U2, RTST_BIN U2 [0] }
    SDR 1 80 {
        HEAD_NUM U1, SITE_GRP U1, SITE_CNT U1, SITE_NUM U1 [2], HAND_TYP Cn, HAND_ID Cn,
        CARD_TYP Cn, CARD_ID Cn, LOAD_TYP Cn, LOAD_ID Cn, DIB_TYP Cn, DIB_ID Cn, CABL_TYP Cn,
        CABL_ID Cn, CONT_TYP Cn, CONT_ID Cn, LASR_TYP Cn, LASR_ID Cn, EXTR_TYP Cn, EXTR_ID Cn,
    }
    PSR 1 90 {
        CONT_FLG B1, PSR_INDX U2, PSR_NAM Cn, OPT_FLG B1, TOTP_CNT U2, LOCP_CNT U2, PAT_BGN U8 [5],
        PAT_END U8 [5], PAT_FILE Cn [5], PAT_LBL Cn [5], FILE_UID Cn [5], ATPG_DSC Cn [5],
        SRC_ID Cn [5],
    }
    NMR 1 91 { CONT_FLG B1, TOTM_CNT U2, LOCM_CNT U2, PMR_INDX U2 [2], ATPG_NAM Cn [2] }
    CNR 1 92 { CHN_NUM U2, BIT_POS U4, CELL_NAM Sn }
    SSR 1 93 { SSR_NAM Cn, CHN_CNT U2, CHN_LIST U2 [1] }
    CDR 1 94 {
        CONT_FLG B1, CDR_INDX U2, CHN_NAM Cn, CHN_LEN U4, SIN_PIN U2, SOUT_PIN U2, MSTR_CNT U1,
        M_CLKS U2 [6], SLAV_CNT U1, S_CLKS U2 [8], INV_VAL U1, LST_CNT U2, CELL_LST Sn [11],
    }
    WIR 2 10 { HEAD_NUM U1, SITE_GRP U1, START_T U4, WAFER_ID Cn }
    WRR 2 20 {
        HEAD_NUM U1, SITE_GRP U1, FINISH_T U4, PART_CNT U4, RTST_CNT U4, ABRT_CNT U4, GOOD_CNT U4,
        FUNC_CNT U4, WAFER_ID Cn, FABWF_ID Cn, FRAME_ID Cn, MASK_ID Cn, USR_DESC Cn, EXC_DESC Cn,
    }
    WCR 2 30 {
        WAFR_SIZ R4, DIE_HT R4, DIE_WID R4, WF_UNITS U1, WF_FLAT C1, CENTER_X I2, CENTER_Y I2,
        POS_X C1, POS_Y C1,
    }
    PIR 5 10 { HEAD_NUM U1, SITE_NUM U1 }
    PRR 5 20 {
        HEAD_NUM U1, SITE_NUM U1, PART_FLG B1, NUM_TEST U2, HARD_BIN U2, SOFT_BIN U2, X_COORD I2,
        Y_COORD I2, TEST_T U4, PART_ID Cn, PART_TXT Cn, PART_FIX Bn,
    }
    TSR 10 30 {
        HEAD_NUM U1, SITE_NUM U1, TEST_TYP C1, TEST_NUM U4, EXEC_CNT U4, FAIL_CNT U4, ALRM_CNT U4,
        TEST_NAM Cn, SEQ_NAME Cn, TEST_LBL Cn, OPT_FLAG B1, TEST_TIM R4, TEST_MIN R4, TEST_MAX R4,
        TST_SUMS R4, TST_SQRS R4,
    }
    PTR 15 10 {
        TEST_NUM U4, HEAD_NUM U1, SITE_NUM U1, TEST_FLG B1, PARM_FLG B1, RESULT R4, TEST_TXT Cn,
        ALARM_ID Cn, OPT_FLAG B1, RES_SCAL I1, LLM_SCAL I1, HLM_SCAL I1, LO_LIMIT R4, HI_LIMIT R4,
        UNITS Cn, C_RESFMT Cn, C_LLMFMT Cn, C_HLMFMT Cn, LO_SPEC R4, HI_SPEC R4,
    }
    MPR 15 15 {
        TEST_NUM U4, HEAD_NUM U1, SITE_NUM U1, TEST_FLG B1, PARM_FLG B1, RTN_ICNT U2, RSLT_CNT U2,
        RTN_STAT N1 [5], RTN_RSLT R4 [6], TEST_TXT Cn, ALARM_ID Cn, OPT_FLAG B1, RES_SCAL I1,
        LLM_SCAL I1, HLM_SCAL I1, LO_LIMIT R4, HI_LIMIT R4, START_IN R4, INCR_IN R4,
        RTN_INDX U2 [5], UNITS Cn, UNITS_IN Cn, C_RESFMT Cn, C_LLMFMT Cn, C_HLMFMT Cn, LO_SPEC R4,
        HI_SPEC R4,
    }
    FTR 15 20 {
        TEST_NUM U4, HEAD_NUM U1, SITE_NUM U1, TEST_FLG B1, OPT_FLAG B1, CYCL_CNT U4, REL_VADR U4,
        REPT_CNT U4, NUM_FAIL U4, XFAIL_AD I4, YFAIL_AD I4, VECT_OFF I2, RTN_ICNT U2, PGM_ICNT U2,
        RTN_INDX U2 [12], RTN_STAT N1 [12], PGM_INDX U2 [13], PGM_STAT N1 [13], FAIL_PIN Dn,
        VECT_NAM Cn, TIME_SET Cn, OP_CODE Cn, TEST_TXT Cn, ALARM_ID Cn, PROG_TXT Cn, RSLT_TXT Cn,
        PATG_NUM U1, SPIN_MAP Dn,
    }
    STR 15 30 {
        CONT_FLG B1, TEST_NUM U4, HEAD_NUM U1, SITE_NUM U1, PSR_REF U2, TEST_FLG B1, LOG_TYP Cn,
        TEST_TXT Cn, ALARM_ID Cn, PROG_TXT Cn, RSLT_TXT Cn, Z_VAL U1, FMU_FLG B1, MASK_MAP Dn,
        FAL_MAP Dn, CYC_CNT U8, TOTF_CNT U4, TOTL_CNT U4, CYC_BASE U8, BIT_BASE U4, COND_CNT U2,
        LIM_CNT U2, CYC_SIZE U1, PMR_SIZE U1, CHN_SIZE U1, PAT_SIZE U1, BIT_SIZE U1, U1_SIZE U1,
        U2_SIZE U1, U3_SIZE U1, UTX_SIZE U1, CAP_BGN U2, LIM_INDX U2 [21], LIM_SPEC U4 [21],
        COND_LST Cn [20], CYCO_CNT U2, CYC_OFST Uf [35 22], PMR_CNT U2, PMR_INDX Uf [37 23],
        CHN_CNT U2, CHN_NUM Uf [39 24], EXP_CNT U2, EXP_DATA U1 [41], CAP_CNT U2, CAP_DATA U1 [43],
        NEW_CNT U2, NEW_DATA U1 [45], PAT_CNT U2, PAT_NUM Uf [47 25], BPOS_CNT U2,
        BIT_POS Uf [49 26], USR1_CNT U2, USR1 Uf [51 27], USR2_CNT U2, USR2 Uf [53 28],
        USR3_CNT U2, USR3 Uf [55 29], TXT_CNT U2, USER_TXT Cf [57 30],
    }
    BPS 20 10 { SEQ_NAME Cn }
    EPS 20 20 {}
    GDR 50 10 { GEN_DATA Vn }
    DTR 50 30 { TEXT_DAT Cn }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_by_fields_before_them() {
        for record in RECORD_TYPES {
            for (at, field) in record.fields.iter().enumerate() {
                let place = format!("{}.{}", record.name, field.name);
                let (count, size) = match field.form {
                    Form::One(item) => {
                        assert!(!matches!(item, Item::Uf | Item::Cf | Item::N1), "{place}");
                        continue;
                    }
                    Form::List(_, count) => (count, None),
                    Form::Sized(item, count, size) => {
                        assert!(matches!(item, Item::Uf | Item::Cf), "{place}");
                        (count, Some(size))
                    }
                };
                assert!(count < at && size.is_none_or(|size| size < count), "{place}");
                let unsigned = [Item::U1, Item::U2].map(Form::One);
                let counts = &record.fields[count];
                let is_counter = counts.name.ends_with("CNT") || counts.name == "NUM_BINS";
                assert!(is_counter && unsigned.contains(&counts.form), "{place}");
                if let Some(size) = size.map(|size| &record.fields[size]) {
                    assert!(size.name.ends_with("_SIZE"), "{place}");
                }
            }
        }
    }

    #[test]
    fn types_are_found_by_their_numbers() {
        for record in RECORD_TYPES {
            assert_eq!(record_type(record.number.0, record.number.1), Some(*record));
        }
        assert_eq!(record_type(180, 10), None);
        let types = MPR.fields.iter().map(Field::type_name).collect::<Vec<_>>();
        assert_eq!(types[..2], ["U*4", "U*1"]);
        assert_eq!(types[7..10], ["kxN*1", "kxR*4", "C*n"]);
    }
}
